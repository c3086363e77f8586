import HTTPServer
import JSONText
import NIOHTTP1

/// `GET /`: the service's name and version, and links to its calls.
struct IndexRoute: RouteHandler {
  let version: String
  let address: PublicAddress
  let hasMetrics: Bool

  func respond(to request: HTTPRequest) -> HTTPResponse {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "name", "waymark")
    json.write(member: "version", version)
    json.write(name: "links")
    json.beginObject()
    for (name, target) in links {
      json.write(escapedName: name)
      json.write(string: address.target(path: target, relative: String(target.dropFirst()), for: request))
    }
    json.endObject()
    json.endObject()
    return HTTPResponse(json)
  }

  private var links: [(name: String, target: String)] {
    [
      (
        "locations",
        "/locations{?q,lat,long,radius,bbox,category,source,sourceId,filter,filter-lang,within,route,sort,"
          + "autocomplete,limit,cursor,fields,lang,f}"
      ),
      ("location", "/locations/{id}"),
      ("check", "/locations/check{?lat,long,radius,fields,lang}"),
      ("suggest", "/locations/suggest{?q,lat,long,radius,bbox,category,source,sourceId,within,route,limit,lang}"),
      ("reverse", "/locations/reverse{?lat,long,radius,category,fields,lang,f}"),
      ("featured", "/locations/featured"),
      (
        "import",
        "/locations/import{?mode,dryRun,source,idField,unknownFields,replaceSource,licence,attribution,attributionUrl}"
      ),
      ("export", "/locations/export{?lat,long,radius,bbox,category,source,sourceId,filter,filter-lang,within,route,f}"),
      ("ogc", "/ogc"),
      ("categories", "/categories{?bbox}"),
      ("sources", "/sources"),
      ("tiles", "/tiles.json{?category,source,sourceId,filter,filter-lang,within,tags}"),
      ("clusters", "/locations/clusters{?bbox,zoom,category,source,sourceId,filter,filter-lang,within}"),
      ("facets", "/locations/facets{?by,bbox,category,source,sourceId,filter,filter-lang,within,limit}"),
      ("backup", "/backup"),
      ("searches", "/analytics/searches{?since,until,limit}"),
      ("live", "/health/live"),
      ("ready", "/health/ready"),
      ("openapi", "/openapi.json"),
      ("openapi30", "/openapi-3.0.json"),
      ("docs", "/docs"),
      ("map", "/map"),
      ("status", "/status"),
    ] + (hasMetrics ? [("metrics", "/metrics")] : [])
  }
}
