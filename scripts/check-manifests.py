#!/usr/bin/env python3
"""What scripts/check-manifests runs; its argument is a file of the docker-compose package, for the schema in it."""

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
    complaints = []
    objects = {}
    for path in sorted(MANIFESTS.glob("*.yaml")):
        for manifest in yaml.safe_load_all(path.read_text()):
            if path.name == "kustomization.yaml":
                complaints += kustomization_complaints(manifest)
                continue
            try:
                kubernetes_validate.validate(manifest, KUBERNETES_VERSION, strict=True)
            except kubernetes_validate.ValidationError as error:
                complaints.append(f"{path}: {'.'.join(map(str, error.path))}: {error.message}")
            objects[manifest["kind"]] = manifest
    compose = yaml.safe_load(pathlib.Path("compose.yaml").read_text())
    # Of this schema's time is neither the name nor that a file needs no version.
    schema = json.loads(zipfile.ZipFile(sys.argv[1]).read("compose/config/compose_spec.json"))
    schema["properties"]["name"] = {"type": "string"}
    for error in jsonschema.Draft7Validator(schema).iter_errors(compose):
        complaints.append(f"compose.yaml: {'.'.join(map(str, error.path))}: {error.message}")
    complaints += agreement_complaints(objects, compose)
    for complaint in complaints:
        print(complaint)
    print(f"{len(objects)} Kubernetes objects and compose.yaml: {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


def kustomization_complaints(kustomization):
    """It names all files but itself and the example."""
    named = set(kustomization["resources"])
    there = {path.name for path in MANIFESTS.glob("*.yaml")} - {"kustomization.yaml", "secret.example.yaml"}
    return [f"kustomization.yaml: {name} is named or there, not both" for name in sorted(named ^ there)]


def agreement_complaints(objects, compose):
    """What no schema knows: that the parts fit each other."""
    complaints = []
    server = objects["Deployment"]["spec"]["template"]["spec"]
    container = server["containers"][0]
    settings = objects["ConfigMap"]["data"]

    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = int(settings["DRAIN_TIMEOUT_MS"]) / 1000
    if server["terminationGracePeriodSeconds"] < pause + drain + 2:
        complaints.append(f"terminationGracePeriodSeconds is less than a pause of {pause} s and a drain of {drain} s take")

    known = set(re.findall(r"`([A-Z][A-Z_]+)`", pathlib.Path("docs/configuration.md").read_text()))
    used = set(settings) | {entry["name"] for entry in container["env"]}
    for name in ("waymark", "migrate", "keys"):
        used |= set(compose["services"][name]["environment"])
    # Whoever reaches the published port may only change places with a key.
    server_environment = compose["services"]["waymark"]["environment"]
    if server_environment.get("API_KEYS_FILE") != compose["services"]["keys"]["environment"]["API_KEYS_FILE"]:
        complaints.append("compose.yaml: the server does not read the file of keys that is created for it")
    # The settings of the Debian package, those that are commented out too.
    used |= set(re.findall(r"^#?([A-Z][A-Z_]+)=", pathlib.Path("deploy/debian/waymark.env").read_text(), re.MULTILINE))
    complaints += [f"docs/configuration.md does not know {name}" for name in sorted(used - known)]

    secret = set(objects["Secret"]["stringData"])
    keys = {entry["valueFrom"]["secretKeyRef"]["key"] for entry in container["env"] if "valueFrom" in entry}
    keys |= {item["key"] for volume in server["volumes"] for item in volume["secret"]["items"]}
    complaints += [f"the Secret has no {key}" for key in sorted(keys - secret)]

    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    for selector in (
        objects["Deployment"]["spec"]["selector"]["matchLabels"],
        objects["Service"]["spec"]["selector"],
        objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ):
        if not selector.items() <= labels:
            complaints.append(f"{selector} does not select the pods")
        if selector.items() <= objects["Job"]["spec"]["template"]["metadata"]["labels"].items():
            complaints.append(f"{selector} selects the migration too")

    for name, spec in (("Deployment", server), ("Job", objects["Job"]["spec"]["template"]["spec"])):
        for each in spec["containers"]:
            context = each["securityContext"]
            if not context["readOnlyRootFilesystem"] or context["capabilities"]["drop"] != ["ALL"]:
                complaints.append(f"{name}: {each['name']} may do more than it needs to")
        if not spec["securityContext"]["runAsNonRoot"]:
            complaints.append(f"{name}: may run as root")
    return complaints


if __name__ == "__main__":
    main()
