package import JSONText

/// The examples that several descriptions share.
package enum Examples {
  package static let id = "0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"

  package static let draft: JSONValue = [
    "name": "Corner Café", "category": "cafe", "lat": 48.2, "long": 16.37, "tags": ["wheelchair": "yes"],
  ]

  package static let place: JSONValue = [
    "id": .string(id), "name": "Corner Café", "category": "cafe", "lat": 48.2, "long": 16.37,
    "tags": ["wheelchair": "yes"], "source": "demo", "sourceId": "17", "version": 3,
    "createdAt": "2026-11-20T10:15:00Z", "updatedAt": "2026-11-21T10:15:00Z",
  ]

  package static let found: JSONValue = [
    "id": .string(id), "name": "Corner Café", "category": "cafe", "lat": 48.2, "long": 16.37, "distance": 264.9,
    "tags": ["wheelchair": "yes"],
  ]

  static let feature: JSONValue = [
    "type": "Feature", "id": .string(id), "geometry": ["type": "Point", "coordinates": [16.37, 48.2]],
    "properties": ["name": "Corner Café", "category": "cafe", "tags": ["wheelchair": "yes"]],
  ]

  package static let newFeature: JSONValue = [
    "type": "Feature", "geometry": ["type": "Point", "coordinates": [16.37, 48.2]],
    "properties": ["name": "Corner Café", "category": "cafe"],
  ]

  package static let collection: JSONValue = [
    "type": "FeatureCollection", "features": [feature], "numberReturned": 1, "timeStamp": "2026-11-21T10:15:00Z",
    "links": [
      ["rel": "next", "type": "application/geo+json", "href": "?limit=1&cursor=AbC"],
      ["rel": "license", "type": "application/json", "href": "sources"],
    ],
  ]

  package static let csv: JSONValue = "source,sourceId,name,lat,long\ndemo,1,North,1,2\n"

  package static let ndjson: JSONValue =
    "{\"source\":\"demo\",\"sourceId\":\"1\",\"name\":\"North\",\"lat\":1,\"long\":2}\n"

  package static let sequence: JSONValue =
    """
    \u{1E}{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"North"}}

    """
}
