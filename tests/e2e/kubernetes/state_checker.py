"""Reads a cluster's own state, and says what no scheduler may ever have done there.

It knows nothing of how Tutti counts: what a pod takes is worked out here from Kubernetes' rules.
"""
import collections
import fractions
import re

SUFFIXES = {"": 1, "n": fractions.Fraction(1, 10**9), "u": fractions.Fraction(1, 10**6),
            "m": fractions.Fraction(1, 1000), "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
            "P": 10**15, "E": 10**18, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
            "Pi": 2**50, "Ei": 2**60}
QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)")
ENDED = ("Succeeded", "Failed")
GROUP_ANNOTATIONS = ("scheduling.k8s.io/group-name", "tutti.io/gang")
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def quantity(text):
    """The exact number behind "500m", "1.5Gi" or "1e3"."""
    number, suffix = QUANTITY.fullmatch(str(text)).groups()
    return fractions.Fraction(number) * SUFFIXES[suffix]


def requests_of(container):
    amounts = container.get("resources", {})
    asked = {**amounts.get("limits", {}), **amounts.get("requests", {})}
    return collections.Counter({name: quantity(text) for name, text in asked.items()})


def larger(one, other):
    return collections.Counter({name: max(one[name], other[name]) for name in {*one, *other}})


def taken(pod):
    """What a pod takes of its node: its containers and sidecars together, or the most that an init
    container needs beside the sidecars before it. An amount that the pod itself names counts."""
    spec = pod["spec"]
    running, starting = collections.Counter(), collections.Counter()
    for container in spec.get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            running.update(requests_of(container))
            starting = larger(starting, running)
        else:
            starting = larger(starting, running + requests_of(container))
    for container in spec["containers"]:
        running.update(requests_of(container))
    whole = larger(running, starting)
    whole.update({name: amount - whole[name] for name, amount in requests_of(spec).items()})
    whole.update({name: quantity(text) for name, text in spec.get("overhead", {}).items()})
    whole["pods"] = 1
    return whole


def name_of(thing):
    return f"{thing['metadata'].get('namespace', '')}/{thing['metadata']['name']}"


def over_capacity(nodes, pods):
    used = collections.defaultdict(collections.Counter)
    for pod in pods:
        if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in ENDED:
            used[pod["spec"]["nodeName"]].update(taken(pod))
    known = {node["metadata"]["name"]: node["status"]["allocatable"] for node in nodes}
    for name, amounts in sorted(used.items()):
        for resource, amount in sorted(amounts.items()):
            there = quantity(known.get(name, {}).get(resource, 0))
            if amount > there:
                yield f"node {name}: {float(amount):g} {resource} taken of {float(there):g}"


def bound_twice(changes):
    """A name may come again once its pod was deleted; before that, one binding only."""
    bound = {}
    for change in changes:
        if change.verb == "delete" and not change.part and change.code < 300:
            bound.pop(change.pod, None)
        elif change.verb == "deletecollection" and change.code < 300:
            inside = change.pod.split("/")[0] + "/"
            bound = {pod: user for pod, user in bound.items() if not pod.startswith(inside)}
        elif change.bound:
            if change.pod in bound:
                yield f"pod {change.pod}: bound by {bound[change.pod]}, and by {change.user}"
            bound[change.pod] = change.user


def gang_of(pod):
    metadata = pod["metadata"]
    named = [metadata.get("annotations", {}).get(key) for key in GROUP_ANNOTATIONS]
    named.append(metadata.get("labels", {}).get(GROUP_LABEL))
    name = next(filter(None, named), None)
    return name and f"{metadata.get('namespace', '')}/{name}"


def partial_gangs(pods, groups):
    """Gangs of which some pods have a node, but fewer than the group says, or than there are."""
    least = {name_of(group): group.get("spec", {}).get("minMember", 1) for group in groups}
    members = collections.defaultdict(list)
    for pod in pods:
        if gang := gang_of(pod):
            members[gang].append(bool(pod["spec"].get("nodeName")))
    for gang, bound in sorted(members.items()):
        needed = least.get(gang, len(bound))
        if 0 < sum(bound) < needed:
            yield f"gang {gang}: {sum(bound)} of {needed} pods bound"


def offences(client, changes, groups=()):
    """All that is wrong, as text. `groups`: the PodGroups, where there are any."""
    pods, nodes = client.list("/api/v1/pods"), client.list("/api/v1/nodes")
    return [*over_capacity(nodes, pods), *bound_twice(changes), *partial_gangs(pods, groups)]
