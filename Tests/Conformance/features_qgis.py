"""Opens a layer of OGC API Features with QGIS and prints what it finds as JSON, for scripts/conformance features."""

import json
import sys

from qgis.core import QgsApplication, QgsDataSourceUri, QgsFeatureRequest, QgsRectangle, QgsVectorLayer


def main():
    QgsApplication.setPrefixPath("/usr", True)
    application = QgsApplication([], False)
    application.initQgis()
    uri = QgsDataSourceUri()
    uri.setParam("url", sys.argv[1])
    uri.setParam("typename", "places")
    uri.setParam("restrictToRequestBBOX", "0")
    layer = QgsVectorLayer(uri.uri(False), "places", "OAPIF")
    report = {"valid": layer.isValid()}
    if layer.isValid():
        extent = layer.extent()
        report["extent"] = [extent.xMinimum(), extent.yMinimum(), extent.xMaximum(), extent.yMaximum()]
        report["fields"] = [field.name() for field in layer.fields()]
        identifiers = [feature["id"] for feature in layer.getFeatures()]
        report["features"] = len(identifiers)
        report["ids"] = len(set(identifiers))
        request = QgsFeatureRequest().setFilterExpression("\"category\" = 'cafe'")
        report["cafes"] = sum(1 for _ in layer.getFeatures(request))
        boxed = QgsVectorLayer(uri.uri(False).replace("restrictToRequestBBOX='0'", "restrictToRequestBBOX='1'"), "box", "OAPIF")
        request = QgsFeatureRequest().setFilterRect(QgsRectangle(-10, 30, 40, 60))
        report["box"] = sum(1 for _ in boxed.getFeatures(request))
    else:
        report["error"] = layer.error().message()
    print(json.dumps(report), flush=True)
    layer = boxed = None
    application.exitQgis()


main()
