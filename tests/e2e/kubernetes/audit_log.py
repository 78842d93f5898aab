"""What the API server noted of changes of pods (audit.yaml)."""
import dataclasses
import datetime
import json


@dataclasses.dataclass(frozen=True)
class Change:
    """One request that was answered; `part` is what of the pod it was about: binding, status."""
    at: float  # Seconds since 1970, when it came in.
    user: str
    verb: str
    part: str
    pod: str  # namespace/name; the name is empty where the server chose it.
    code: int

    @property
    def bound(self):
        return self.part == "binding" and self.code == 201


def parse(line):
    event = json.loads(line)
    about = event["objectRef"]
    at = datetime.datetime.fromisoformat(event["requestReceivedTimestamp"])
    return Change(at.timestamp(), event["user"]["username"], event["verb"],
                  about.get("subresource", ""),
                  f"{about.get('namespace', '')}/{about.get('name', '')}",
                  event["responseStatus"]["code"])


def read(path):
    """All changes, in the order in which they were answered; a line half written is left out."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [parse(line) for line in file if line.endswith("\n")]
