"""Checks deploy/kubernetes and compose.yaml. The argument is a docker-compose package, which contains the schema."""

import json
import pathlib
import re
import sys
import zipfile

import jsonschema
import kubernetes_validate
import yaml

KUBERNETES_VERSION = "1.34"
MANIFESTS = pathlib.Path("deploy/kubernetes")


def main():
    problems = []
    objects = {}
    for path in sorted(MANIFESTS.glob("*.yaml")):
        for manifest in yaml.safe_load_all(path.read_text()):
            if path.name == "kustomization.yaml":
                problems += check_kustomization(manifest)
                continue
            try:
                kubernetes_validate.validate(manifest, KUBERNETES_VERSION, strict=True)
            except kubernetes_validate.ValidationError as error:
                problems.append(f"{path}: {'.'.join(map(str, error.path))}: {error.message}")
            objects[manifest["kind"]] = manifest
    compose = yaml.safe_load(pathlib.Path("compose.yaml").read_text())
    # The schema is older than the top-level name.
    schema = json.loads(zipfile.ZipFile(sys.argv[1]).read("compose/config/compose_spec.json"))
    schema["properties"]["name"] = {"type": "string"}
    for error in jsonschema.Draft7Validator(schema).iter_errors(compose):
        problems.append(f"compose.yaml: {'.'.join(map(str, error.path))}: {error.message}")
    problems += check_agreement(objects, compose)
    for problem in problems:
        print(problem)
    print(f"{len(objects)} Kubernetes objects and compose.yaml: {len(problems)} problems")
    sys.exit(1 if problems else 0)


def check_kustomization(kustomization):
    """Checks that all manifests except the example are listed."""
    named = set(kustomization["resources"])
    existing = {path.name for path in MANIFESTS.glob("*.yaml")} - {"kustomization.yaml", "secret.example.yaml"}
    return [f"kustomization.yaml: {name} is listed or exists, but not both" for name in sorted(named ^ existing)]


def check_agreement(objects, compose):
    """Checks that the manifests agree with each other, which no schema can."""
    problems = []
    server = objects["Deployment"]["spec"]["template"]["spec"]
    container = server["containers"][0]
    settings = objects["ConfigMap"]["data"]

    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = int(settings["DRAIN_TIMEOUT_MS"]) / 1000
    if server["terminationGracePeriodSeconds"] < pause + drain + 2:
        problems.append(f"terminationGracePeriodSeconds is less than 2 s more than preStop ({pause} s) and drain ({drain} s)")

    for name in ("startupProbe", "livenessProbe"):
        if container[name]["httpGet"]["path"] != "/health/live":
            problems.append(f"{name} kills pods while the database is away")
    if container["readinessProbe"]["httpGet"]["path"] != "/health/ready":
        problems.append("readinessProbe does not ask whether the pod is ready")
    start = container["startupProbe"]
    settings_page = pathlib.Path("docs/configuration.md").read_text()
    wait = int(settings.get("READY_INDEX_WAIT_S") or re.search(
        r"`READY_INDEX_WAIT_S` \| [^|]* \| `(\d+)`", settings_page).group(1))
    if start["periodSeconds"] * start["failureThreshold"] < wait:
        problems.append(f"startupProbe allows less than READY_INDEX_WAIT_S ({wait} s)")

    known = set(re.findall(r"`([A-Z][A-Z_]+)`", settings_page))
    used = set(settings) | {entry["name"] for entry in container["env"]}
    for name in ("waymark", "migrate", "keys"):
        used |= set(compose["services"][name]["environment"])
    # The port is published, so writes must require a key.
    server_environment = compose["services"]["waymark"]["environment"]
    if server_environment.get("API_KEYS_FILE") != compose["services"]["keys"]["environment"]["API_KEYS_FILE"]:
        problems.append("compose.yaml: the server does not read the created key file")
    # The key is written to the standard error, which logs keep.
    if "2>/dev/null" not in compose["services"]["keys"]["command"][0]:
        problems.append("compose.yaml: the logs of the service keys have a key")
    # The settings of the Debian package, including those in comments.
    used |= set(re.findall(r"^#?([A-Z][A-Z_]+)=", pathlib.Path("deploy/debian/waymark.env").read_text(), re.MULTILINE))
    problems += [f"docs/configuration.md does not contain {name}" for name in sorted(used - known)]

    secret = set(objects["Secret"]["stringData"])
    keys = {entry["valueFrom"]["secretKeyRef"]["key"] for entry in container["env"] if "valueFrom" in entry}
    keys |= {item["key"] for volume in server["volumes"] for item in volume["secret"]["items"]}
    problems += [f"the Secret has no {key}" for key in sorted(keys - secret)]

    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    for selector in (
        objects["Deployment"]["spec"]["selector"]["matchLabels"],
        objects["Service"]["spec"]["selector"],
        objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ):
        if not selector.items() <= labels:
            problems.append(f"{selector} does not select the pods")
        if selector.items() <= objects["Job"]["spec"]["template"]["metadata"]["labels"].items():
            problems.append(f"{selector} selects the migration too")

    for name, spec in (("Deployment", server), ("Job", objects["Job"]["spec"]["template"]["spec"])):
        for container in spec["containers"]:
            context = container["securityContext"]
            if not context["readOnlyRootFilesystem"] or context["capabilities"]["drop"] != ["ALL"]:
                problems.append(f"{name}: {container['name']} has more privileges than it needs")
        if not spec["securityContext"]["runAsNonRoot"]:
            problems.append(f"{name} may run as root")
    return problems


if __name__ == "__main__":
    main()
