"""What is wrong with an input, and a part of the error that has to say so: data, no tests.

A row is (text, part of the error); where a table is about one field, the text is its value.
"""
FLEET = "nodes:\n  - name: n0\n    {}: {}\n"
JOB = "jobs:\n  - name: j\n    {}: {}\n"
CUBE = 10**18
DEEP = "[" * 100_000
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join(['*' + before] * 10)}]\n"
    for before, after in zip("abcdefghijk", "bcdefghijkl"))

# Fields of a node, at line 3.
NODES = {
    "cpu": [("-4", '"-4" is negative'), ("NaN", "is not a quantity"), (".inf", "not a quantity"),
            ("1e18", '"1e18" is more than'), ("[4]", "expected a quantity, found a list"),
            ("0x10", "is not a quantity"), ("1_000", "is not a quantity")],
    "memory": [("-8Gi", "negative"), ("8GiB", "not a quantity"), ("2000Pi", "more than 2^60"),
               ("1e400", "more than")],
    "gpus": [(f"{CUBE}xT4", f"1 to 128 devices, not {CUBE}"), ("-1xT4", "no number of cards"),
             ("0xT4", "1 to 128 devices, not 0"), ("129xT4", "not 129"), ("8", "8xA100-80G"),
             ("0.5xT4", "no number of cards"), ("1e1xT4", "no number of cards"),
             ("8x", "no number of cards"), ("NaNxT4", "no number of cards")],
    "pods": [("-1", "allowed: 0 to 1000000"), ("1e18", "expected an integer")],
    "labels": [("[a]", "expected a map"), ("{a: 1}", "put it in quotes"), ('{"": x}', "empty")],
    "domains": [("{rack: 0}", "at least 1 node"), ("{rack: -1}", "at least 1"),
                ("{rack: 1e18}", "expected an integer"),
                ("{rack: {size: 4, prefx: r}}", 'did you mean "prefix"?')],
    "taints": [('["a=b:no_shedule"]', 'did you mean "no_schedule"?'), ('[""]', "needs a key")],
    "stack": [("{cuda: 12.4}", "put it in quotes")],
    "cordoned": [("yes", "write true"), ("1", "expected a boolean")],
    "pool": [('""', "1 to 253 characters"), ('"a b"', "has a blank")],
    "resources": [("{cpu: 4}", "a field of its own"), ("{rdma/hca: -1}", "negative"),
                  ("{rdma/hca: NaN}", "not a quantity"), ('{"": 4}', "a name is empty")],
    "devices": [("[{count: 8}]", "model is missing"), ("[{model: T4, count: -1}]", "1 to 128"),
                (f"[{{model: T4, count: {CUBE}}}]", "allowed: 1 to 128"),
                ("[{model: T4, memory: 1e18}]", "more than a card has"),
                ("[{model: T4, parent: 5}]", "none of the 1 devices"),
                ("[{model: T4, parent: 0}]", "parent 0 is itself a slice"),
                ("[{model: T4, parent: 1}, {model: T4, parent: 0}]", "is itself a slice"),
                ("[{model: T4, count: 2, ids: [a]}]", "1 ids for 2 devices"),
                ("[{model: T4, count: 2, ids: [a, a]}]", 'id "a" appears twice'),
                ("[{model: T4, helth: failed}]", 'did you mean "health"?'),
                ("[{model: T4, health: broken}]", "not one of online"),
                ("[{model: T4, attributes: {fp8_tflops: NaN}}]", "expected a number"),
                ("[{model: T4, attributes: {fp8_tflops: 1e30}}]", "more than"),
                ("[{model: T4, mode: mgi}]", 'did you mean "mig"?'), ("{model: T4}", "a list")],
    "gpuz": [("8xT4", 'did you mean "gpus"?')],
}

# Fields of a job, at line 3.
JOBS = {
    "cpu": [("-4", "negative"), ("NaN", "not a quantity"), ("1e18", "more than")],
    "gpus": [("-1", "0 to 128 are possible"), ("1e18", "more than"), (str(CUBE), "0 to 128"),
             ("NaN", "8xA100-80G"), ("1.5", "only a single device"), ("0.0001", "thousandth"),
             ("129", "use more tasks"), ("0.5xT4", "no number of cards")],
    "gpu": [("{count: 0}", "1 to 128"), (f"{{count: {CUBE}}}", "1 to 128"),
            ("{share: 0}", "1 to 1000"), ("{share: 1}", "write 100% or 0.1%"),
            ("{share: 101%}", "1 to 1000"), ("{share: NaN}", "write 30% or 0.3"),
            ("{memory: -1}", "negative"), ("{memory: 1e18}", "more than a card has"),
            ('{where: "memory >= "}', "character 11"), ("{cuont: 1}", 'did you mean "count"?'),
            ("{together: rak}", "island or numa")],
    "copies": [("0", "1 or more"), ("-1", "1 or more"), (str(CUBE), "room for 1000000")],
    "tasks": [("0", "1 to 100000"), (str(CUBE), "1 to 100000"), ("1.5", "expected an integer")],
    "min": [("-1", "allowed: 0 to 1"), ("2", "allowed: 0 to 1")],
    "at": [("-1", "negative"), ("NaN", "not a duration"), ("1e30", "more than")],
    "every": [("-1s", "negative"), ("1e13", "more than")],
    "length": [("0", "a job takes some time"), ("-1", "negative"), ("forever", "not a duration")],
    "priority": [("1e18", "expected an integer"), ("-3000000000", "allowed: -2147483648 to")],
    "nodes": [("{zone: {grater: 3}}", 'did you mean "greater"?'), ("[a]", "expected a map"),
              ("{zone: {greater: NaN}}", "expected an integer")],
    "tolerations": [('["a=b:nope"]', "no_schedule"), ("[5]", "put it in quotes")],
    "stack": [("cuda => 12", ">=, == and <"), ("cuda >= NaN", "no requirement")],
    "ports": [("0", "1 to 65535"), ("65536", "1 to 65535"), ("53/UPD", 'did you mean "UDP"?'),
              ("1e1", "put it in quotes")],
    "affinity": [("[{tasks: {app: db}}]", "within is missing"), ("x", "expected a list"),
                 ("[{tasks: {a: b}, within: zone, weight: 101}]", "1 to 100")],
    "spread": [("[{tasks: {a: b}, over: zone, skew: 0}]", "1 to 10000")],
    "together": [('""', "names no level"), ("[rack]", "expected text")],
    "roles": [("[]", "the list is empty"), ("[{name: a}, {name: a}]", "two roles are called")],
    "gangs": [("[]", "the list is empty"),
              ("[{copies: 100000, groups: [{copies: 100000, roles: [{name: a}]}]}]",
               "more than 100000 tasks")],
    "labels": [('{"": x}', "a key is empty"), ("{a: null}", "found null")],
}

# Whole files of jobs.
WORKLOADS = [
    ("jobs:\n  - {name: a}\n  - {name: a}\n", ':3:12: jobs[1].name: job "a" appears twice'),
    ("jobs: [{name: a}]\n---\njobs: [{name: a}]\n", ":3:15:"),
    ('jobs: [{name: "j[0-1"}]', "that never ends"), ('jobs: [{name: "j[5-1]"}]', "backwards"),
    ('jobs: [{name: "j[0-999999][0-999999]"}]', "at most 1000000"),
    ('jobs: [{name: "j[0-99999999999]"}]', "at most 9 digits"),
    ('jobs: [{name: ""}]', "1 to 253"), (f"jobs: [{{name: {'a' * 300}}}]", "this one 300"),
    ("jobs: [{cpu: 1}]", 'add "name"'), ("jobs: []", "describes no jobs"),
    ("jbos: [{name: a}]", ':1:1: unknown field "jbos"'), ("jobs: [a]", "expected a map"),
    ("x", "expected a map"), ("[]", "expected a map"), ("5", "expected a map"),
    ("tutti: 2\njobs: [{name: a}]", "this build reads version 1"),
    ("jobs: [{name: a}]\njobs: [{name: b}]", "it stands first at 1:1"),
    ("jobs: *a", "has no anchor"), ("jobs: !!python/object {}", "is not supported"),
    ("jobs: &a [*a]", "has no anchor"), ("<<: {a: b}", "merge keys"), ("\tjobs: 1", ":1:1:"),
    ("jobs: [{name: a}", "flow sequence"), (f"jobs: {DEEP}", "128 levels"),
    (LAUGHS, "expand to more than"),
    ("jobs: [{name: a, at: 1e12, every: 1e12, copies: 1000000}]", "year 30000"),
    ("jobs: [{name: a, copies: 1000, tasks: 100000}]", "at most 10000000"),
    ("mix: [{weight: 0}]\njobs: [{name: a}]", "1 to 1000000000"),
    ("apiVersion: v1\nkind: List\nitems: []\n", "dumps are read as JSON"),
    ("jobs: [{name: a, queue: nowhere}]", 'no queue "nowhere"'),
    ("jobs: [{name: a, together: rak}]", 'did you mean "rack"?'),
]

# Whole files of nodes.
FLEETS = [
    ("nodes: [{name: a}, {name: a}]", 'node "a" appears twice'),
    ("topology: [zone, rack, zone]\nnodes: [{name: a}]", "lies inside itself"),
    ("topology: {a: [x, y], b: [y, x]}\nnodes: [{name: a}]", "lies inside itself"),
    ("queues: [{name: a, parent: b}, {name: b, parent: a}]\nnodes: [{name: n}]",
     "lies inside itself"),
    ("queues: [{name: a, parent: a}]\nnodes: [{name: n}]", "lies inside itself"),
    ("queues: [{name: a}, {name: a}]\nnodes: [{name: n}]", "appears twice"),
    ("queues: [{name: a, limit: {gpu: 1e18}}]\nnodes: [{name: n}]", "more than any fleet has"),
    ("queues: [{name: a, limit: {gpu: -1}}]\nnodes: [{name: n}]", "negative"),
    ("queues: [{name: a, limit: {gpuu: 1}}]\nnodes: [{name: n}]", 'did you mean "gpu"?'),
    ("queues: [{name: a, limit: {gpus: 1}}]\nnodes: [{name: n}]", ":1:28: queues[0].limit: no"),
    ("queues: [{name: a, queues: [{name: b, guarantee: {cpus: 1}}]}]\nnodes: [{name: n}]",
     'queues[0].queues[0].guarantee: no node has "cpus"'),
    ("queues: [{name: a, weight: 0}]\nnodes: [{name: n}]", "1 to 1000000"),
    ("queues: [{name: vision, parent: resarch}, {name: research}]\nnodes: [{name: n}]",
     'did you mean "research"?'),
    ("pools: {edge: {contrl: order}}\nnodes: [{name: n}]", "control is missing"),
    ("topology: [zone, rack]\nnodes:\n  - {name: a, labels: {zone: x, rack: r}}\n"
     "  - {name: b, labels: {zone: y, rack: r}}\n", 'rack "r" lies in zone "x"'),
    ('nodes: [{name: "n[0-999999]", gpus: 8xT4}]', "at most 4000000"),
    ("nodes: [{name: n, labels: {" + ", ".join(f"l{at}: x" for at in range(50)) + "}, "
     "domains: {}}, {name: 'm[0-999998]', labels: {" +
     ", ".join(f"l{at}: x" for at in range(20)) + "}}]", "at most 10000000"),
    ("nodes: [{name: n, resources: {" + ", ".join(f"r{at}: 1" for at in range(1001)) + "}}]",
     "at most 1000"),
]

POLICY = "policy: 1\nname: x\nscores: [{name: fgd}]\n"
POLICIES = [
    ("policy: 2\nname: x\nscores: [{name: fgd}]", ":1:9:"),
    ("policy: 1\nname: x\nscores: []", "names no score"),
    ("policy: 1\nname: x\nscors: [{name: fgd}]", 'did you mean "scores"?'),
    ('policy: 1\nname: ""\nscores: [{name: fgd}]', "1 to 253"),
    ('policy: 1\nname: "a\\e[31m"\nscores: [{name: fgd}]', "a control character"),
    ("policy: 1\nname: x\nscores: [{name: fgdd}]", 'did you mean "fgd"?'),
    ("policy: 1\nname: x\nscores: [{name: fgd}, {name: fgd}]", "appears twice"),
    ("policy: 1\nname: x\nscores: [{name: fgd, weight: 0}]", "1 to 1000"),
    ("policy: 1\nname: x\nscores: [{name: fgd, weight: -1}]", ":3:30:"),
    ("policy: 1\nname: x\nscores: [{name: fgd, weight: NaN}]", "expected an integer"),
    ("policy: 1\nname: x\nscores: [{name: fgd, arguments: {scal: 1}}]", 'did you mean "scale"?'),
    (f"policy: 1\nname: x\nscores: [{{name: fgd, arguments: {{scale: {CUBE}}}}}]", "allowed:"),
    ("policy: 1\nname: x\nscores: [{name: fgd, arguments: {scale: 0}}]", "scale 0; 1 to"),
    ("policy: 1\nname: x\nscores: [{name: fgd, arguments: {cover_percent: 101}}]", "1 to 100"),
    ("policy: 1\nname: x\nscores: [{name: usable, arguments: {fullness: -1}}]", "0 to 1000"),
    (POLICY + "devices: pack", "none of its scores"),
    (POLICY + "target: lerned", 'did you mean "learned"?'),
    (POLICY + "learn_every: 5", "add: target: learned"),
    (POLICY + "target: learned\nlearn_every: 0", "1 to 1000000"),
    (POLICY + "alternatives: by_scor", 'did you mean "by_score"?'),
    (POLICY + "---\n" + POLICY, "has one document"), (DEEP, "128 levels"),
    (LAUGHS, "expand to more than"),
]

DEVICE = "catalog: 1\ndevices: [{name: N1, vendor: nvidia, kind: npu, source: x"
CATALOGS = [
    ("catalog: 2\ndevices: []", ":1:10:"), ("devices: []", "catalog is missing"),
    ("catalog: 1\ndevics: []", 'did you mean "devices"?'),
    ("catalog: 1\ndevices: [{name: N1}]", "vendor is missing"),
    (DEVICE.replace("nvidia", "nvidai") + "}]", 'did you mean "nvidia"?'),
    (DEVICE.replace("npu", "npuu") + "}]", 'did you mean "npu"?'),
    (DEVICE + ", memory_mib: -1}]", ":2:"), (DEVICE + ", memory_mib: NaN}]", "an integer"),
    (DEVICE + ", memroy_mib: 1}]", 'did you mean "memory_mib"?'),
    (DEVICE + ", mig: nope}]", "no MIG layout"),
    (DEVICE + "}, " + DEVICE[21:] + "}]", "stands also at"),
    (DEVICE + ", aliases: [T4]}]", "T4"), (DEEP, "128 levels"), (LAUGHS, "expand to more than"),
]

SCENARIOS = [
    ("nodes n: cpu -4\nexpect free on n: cpu 4", ':1:14: cpu: "-4"'),
    ("nodes n: cpu 1e18\nexpect free on n: cpu 4", "more than"),
    ("nodes n: cpu NaN\nexpect free on n: cpu 4", "quantity"),
    (f"nodes n: {CUBE}xT4\nexpect free on n: cpu 4", "1 to 128"),
    ("nodes n: cpu 4\nqueue q: limit cpuu=4\nexpect free on n: cpu 4", 'did you mean "cpu"?'),
    ("nodes n: cpu 4, zone=z\nsubmit j: cpu 1\nexpect j in 1 zonee", 'did you mean "zone"?'),
    ("nodes n: cpu 4\nnodes n: cpu 4\nexpect free on n: cpu 4", ":2:7:"),
    ("nodes n: cpu 4\nsubmit j: cpu 1\nsubmit j: cpu 1\nexpect j running", ":3:8:"),
    ("nodes n: cpu 4\nadvance -1s\nexpect free on n: cpu 4", ":2:9:"),
    ("nodes n: cpu 4\nadvance 1000000d\nexpect free on n: cpu 4", "three years"),
    ("nodes n[0-99999999]: cpu 4\nexpect free on n0: cpu 4", ":1:7:"),
    (f"nodes n: {{labels: {DEEP}\nexpect free on n: cpu 4", ":1:"),
]

NODE_HEAD = "sn,cpu_milli,memory_mib,gpu,model\n"
NODE_ROWS = [
    ("n,-1,1,0,", ":2:3:"), ("n,NaN,1,0,", "not an integer"), ("n,1e18,1,0,", "not an integer"),
    (f"n,{CUBE}000,1,0,", "does not fit 64 bits"), (f"n,1,1,{CUBE},T4", "allowed: 0 to 128"),
    ("n,1,1,-1,T4", "allowed: 0 to 128"), ("n,1,1,1,", "no model"), ("n,1,1,1", "the header 5"),
    ("n,1,1,1,T4,x", "6 fields"), (",1,1,0,", ":2:1:"),
    ("a b,1,1,0,", "has a blank"), ("n,1,1,0,\nn,1,1,0,", ":3:1:"), ('"n,1,1,0,', "closing quote"),
    ('n"x,1,1,0,', ":2:2:"), ("n\x1b[31m,1,1,0,", ":2:1:"), ("n" * 300 + ",1,1,0,", "253"),
    ("", "has no nodes"), ("n,1,1,0,\n\rm,1,1,0,", "carriage return"),
]
POD_HEAD = ("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
            "deletion_time,scheduled_time\n")
POD_ROWS = [
    ("p,-1,1,0,0,,,,1,2,1", ":2:3:"), ("p,1,1,1,0,,,,1,2,1", "asks for nothing"),
    ("p,1,1,1,1001,,,,1,2,1", "0 to 1000"), ("p,1,1,2,500,,,,1,2,1", "(1000)"),
    (f"p,1,1,{CUBE},1000,,,,1,2,1", "0 to 128"), ("p,1,1,0,500,,,,1,2,1", "a part of one"),
    ("p,1,1,0,0,,,,1,2,1\np,1,1,0,0,,,,1,2,1", ":3:1:"), (",1,1,0,0,,,,1,2,1", ":2:1:"),
    ("p,1,1,0,0,,,,10,5,", "5 is before the start at 10"),
    ("p,1,1,0,0,,,,1,5,10", "5 is before the start at 10"), ("p,1,1,0,0,,,,-1,5,", "-1"),
    (f"p,1,1,0,0,,,,1,{CUBE},", "out of range"), ("p,1,1,0,0,,,,NaN,2,", "not an integer"),
    ('p,1,1,1,500,"T4|""x",,,1,2,1', ':2:13: column "gpu_spec"'), ("", "has no pods"),
]
TABLES = [  # As --fleet.
    ("sn,cpu_mili,memory_mib,gpu,model\nn,1,1,1,T4\n", 'is called "cpu_mili"?'),
    ("sn,sn,memory_mib,gpu,model\nn,1,1,1,T4\n", ":1:4:"),
    ("sn;cpu_milli;memory_mib;gpu;model\n", "this is no fleet that can be read"),
    ("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n", "give it as --workload"),
]

# Kubernetes: what a node offers, what a container asks for.
OFFERS = [("-1", "negative"), ("NaN", "not a quantity"), ("1e18", "at most 128"),
          ("128001", "at most 1000 parts"), (True, "expected a quantity"), (None, "found null")]
ASKS = [("-1", "negative"), ("NaN", "not a quantity"), (str(CUBE), "1 to 128"), ("129", "1 to 128")]
DUMPS = [
    ('{"items":', "is the file complete?"), ('{"items":[{"kind":"Node"', "is the file complete?"),
    ('{"items":[]}', "no nodes"), ('{"items":[]}}', ":1:13:"), ('{"items":[,]}', ":1:11:"),
    ('{"items":[],"items":[]}', "duplicate key"), ('{"items":[NaN]}', "not JSON"),
    ('{"items":[{"a":1,"a":2}]}', ":1:18: duplicate key"), ('{"items":[01]}', "not JSON"),
    ('{"items":[5]}', "no kind"), ('{"items":[{"kind":5}]}', "no kind"),
    ('{"items":[{"kind":"Nod","metadata":{"name":"n"}}]}', "no nodes"),
    ('{"items":[{"kind":"Node"}]}', "metadata is missing"),
    ('{"items":[{"kind":"Node","metadata":{"name":""}}]}', "1 to 253"),
    ('{"items":[{"kind":"Node","metadata":{"name":"a b"}}]}', "has a blank"),
    ('{"items":[{"kind":"Node","metadata":{"name":"n"}}]}', "no pods"),
    ('{"items":[{"kind":"Node","metadata":{"name":"n"}},{"kind":"Node","metadata":{"name":"n"}}]}',
     "node n appears twice"),
    ('{"items":[{"kind":"Pod","x":"\\ud800"}]}', "invalid escape"),
    ('{"items":[{"kind":"Pod","x":"\\u0000"}]}', "a NUL character"),
    ('{"apiVersion":"v1","items":{}}', "is not a list"), ('{"apiVersion":"v1"}', "no list"),
    ('{"items":[' + "[" * 200 + "]" * 200 + "]}", "128 levels"),
    ('{"items":[' + "[" * 2_000_000, "is the file complete?"),
    ('{"items":["' + "a" * 70_000_000 + '"]}', "more than 67108864 bytes"),
    ("apiVersion: v1\nkind: List\nitems: []\n", "dumps are read as JSON"),
]

# Options of `tutti sim --fleet F --workload J`.
SIM_OPTIONS = [
    (["--seeds", "5..1"], "42..51"), (["--seeds", "1..1e18"], "is no seed"),
    (["--seeds", f"1..{CUBE}"], "at most 100000"), (["--seeds", "-1"], "is no seed"),
    (["--seeds", "1..99999", "--seeds", "1..9"], "more than 100000"), (["--seeds", ""], "empty"),
    (["--arrivals", "fill:NaN"], "0.001 to 100"), (["--arrivals", "fill:-1"], "0.001 to 100"),
    (["--arrivals", "fill:1e18"], "0.001 to 100"), (["--arrivals", "fill:0"], "0.001 to 100"),
    (["--arrivals", "fil:1"], "known: fill:X"), (["--arrivals", ""], "the value is empty"),
    (["--until", "-1"], "negative"), (["--until", "NaN"], "not a duration"),
    (["--until", "1e18"], "more than"), (["--until", ""], "the value is empty"),
    (["-j", "-1"], "no natural number"), (["-j", "1e18"], "no natural number"),
    (["-j", str(CUBE)], "too large"), (["-j", ""], "the value is empty"),
    (["--skip-bad", "-1"], "no natural number"), (["--skip-bad", f"{CUBE}000"], "too large"),
    (["--policy", ""], "the value is empty"), (["--policy", "bestft"], "bestfit"),
    (["--report", ""], "the value is empty"), (["--json", ""], "the value is empty"),
    (["--report"], "missing"), (["--flet", "x"], "did you mean --fleet?"),
]
COMMANDS = [
    (["sim", "generate", "fleet", "--nodes", "0"], "1 to 1000000"),
    (["sim", "generate", "fleet", "--nodes", "-1"], "no natural number"),
    (["sim", "generate", "fleet", "--nodes", str(CUBE)], "too large"),
    (["sim", "generate", "fleet", "--nodes", "1000001"], "1 to 1000000"),
    (["sim", "generate", "fleet", "--rack", "0"], "1 to 1000000"),
    (["sim", "generate", "fleet", "--seed", "-1"], "no natural number"),
    (["sim", "generate", "fleet", "--kinds", ""], "the value is empty"),
    (["sim", "generate", "fleet", "--kinds", "8xT4:-1"], "no weight"),
    (["sim", "generate", "fleet", "--kinds", "8xT4:0"], "1 to 10^9"),
    (["sim", "generate", "fleet", "--kinds", "129xT4"], "no number of GPUs"),
    (["sim", "generate", "fleet", "--kinds", "0.5xT4"], "no number of GPUs"),
    (["sim", "generate", "fleet", "--kinds", '8x"T4'], "no number of GPUs"),
    (["sim", "generate", "fleet", "--kinds", "8x"], "no number of GPUs"),
    (["sim", "generate", "workload", "--jobs", "0"], "1 to 1000000"),
    (["sim", "generate", "workload", "--gpus", "NaN"], "no number of GPUs"),
    (["sim", "generate", "workload", "--gpus", "1.5"], "no number of GPUs"),
    (["sim", "generate", "workload", "--gpus", "0.0001"], "no number of GPUs"),
    (["sim", "generate", "workload", "--gpus", "0.5xT4"], "no number of GPUs"),
    (["sim", "generate", "workload", "--tasks", "0"], "1 to 100000"),
    (["sim", "generate", "workload", "--every", "-1"], "negative"),
    (["sim", "generate", "workload", "--every", "uniform:2h..1h"], "no rising range"),
    (["sim", "generate", "workload", "--every", "normal:1h"], "lognormal"),
    (["sim", "generate", "workload", "--length", "lognormal:1h:NaN"], "not a number"),
    (["sim", "generate", "workload", "--jobs", "1000000", "--every", "1000000h"], "year 30000"),
    (["sim", "chaos", "--seeds", "5..1"], "42..51"), (["sim", "chaos", "--until", "-1"], "natural"),
    (["sim", "chaos", "--until", "NaN"], "natural"), (["catalog", "nope"], "tutti catalog lists"),
    (["catalog", "H10"], "did you mean H100?"), (["catalog", ""], "the value is empty"),
    (["completion", "fish"], "known: bash, zsh"), (["completion"], "required"),
    (["config", "check", ""], "the value is empty"), (["config"], "known: check"),
    (["sim", "scenario", "--jsn", "x"], "did you mean --json?"), (["sim"], "--fleet FILE"),
    (["sim", "--workload", "x"], "--fleet FILE"), ([], "known: serve"),
    (["smi"], "did you mean sim"),
]
