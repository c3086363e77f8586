import Testing
import VectorTiles

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func tileOfTheExampleHasThePoint() throws {
    var layer = VectorTileLayer(name: "stops")
    let name = layer.addKey("name")
    layer.set(name, layer.value("Main Street"))
    layer.appendPoint(x: 25, y: 17)
    var tile = VectorTile()
    tile.append(layer)
    let bytes = tile.bytes

    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("stops") && text.contains("Main Street"))
    // The commands of the point: move to (25, 17).
    #expect(bytes.contains([9, 50, 34]))
  }
}
