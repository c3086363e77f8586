import Basics
import Geo
package import JSONText
package import Points

/// The edits of a place as JSON.
package enum EditJSON {
  /// Writes an array of the edits: an object for each field.
  package static func write(_ edits: PlaceEdits, to json: inout JSONWriter<[UInt8]>) {
    json.writeArray(of: edits.edits) { edit, json in
      json.write(member: "field", edit.field.text)
      if edit.field != .deletion {
        json.write(name: "source")
        write(edit.base, to: &json)
      }
      json.write(member: "since", "\(edit.since)")
      if edit.isConflict { json.write(member: "conflict", true) }
    }
  }

  private static func write(_ value: FieldValue, to json: inout JSONWriter<[UInt8]>) {
    switch value {
    case .none: json.writeNull()
    case .text(let text): json.write(string: text.text)
    case .position(let coordinate):
      json.beginObject()
      json.write(name: "lat")
      json.write(number: coordinate.latitude)
      json.write(name: "long")
      json.write(number: coordinate.longitude)
      json.endObject()
    }
  }
}
