package import Basics
package import JSONText
package import Points

/// Changes as JSON.
package enum ChangeJSON {
  /// Writes a change: an id, a version, and the place or what has become of it.
  package static func write(_ change: PointChange, to json: inout JSONWriter<some ByteSink>) {
    json.beginObject()
    json.write(member: "id", change.id.description)
    json.write(name: "version")
    json.write(integer: change.version)
    switch change {
    case .put(let point):
      json.write(name: "place")
      PointJSON.append(FoundPoint(point: point, distanceMetres: nil), fields: .all, to: &json.sink)
    case .removal: json.write(member: "deleted", true)
    case .outside: json.write(member: "outside", true)
    }
    json.endObject()
  }
}
