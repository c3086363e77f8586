import Foundation
import TestSupport
import Testing
import VectorTiles

@Suite struct VectorTileTests {
  @Test func tileWithoutFeaturesIsEmpty() {
    var tile = VectorTile()

    tile.append(VectorTileLayer(name: "places"))

    #expect(tile.bytes.isEmpty)
  }

  @Test func bytesAreThoseOfTheSpecification() throws {
    var layer = VectorTileLayer(name: "a")
    let key = layer.addKey("k")
    layer.set(key, layer.value("v"))
    layer.appendPoint(x: 25, y: 17)
    var tile = VectorTile()

    tile.append(layer)

    // The position is that of the specification's example of a point: 9 50 34.
    #expect(
      tile.bytes == [
        0x1A, 0x1D, 0x78, 2, 0x0A, 1, 0x61, 0x12, 11, 0x12, 2, 0, 0, 0x18, 1, 0x22, 3, 9, 50, 34, 0x1A, 1, 0x6B, 0x22,
        3, 0x0A, 1, 0x76, 0x28, 0x80, 0x20,
      ])
  }

  @Test func attributesAreReadAsTheyWereSet() throws {
    var (places, clusters) = (VectorTileLayer(name: "places"), VectorTileLayer(name: "clusters"))
    let (name, tag) = (places.addKey("name"), places.addKey("ключ"))
    let count = clusters.addKey("count")
    var expected: [VectorTileReader.Feature] = []
    for number in 0..<500 {
      let text = String(repeating: "né\0", count: number % 70) + "\(number / 3)"
      places.set(name, places.value(text))
      var attributes: [String: VectorTileReader.Value] = ["name": .text(text)]
      if number.isMultiple(of: 7) {
        places.set(tag, places.value(""))
        attributes["ключ"] = .text("")
      }
      places.appendPoint(x: number * 8, y: 4095 - number)
      expected.append(.init(x: number * 8, y: 4095 - number, attributes: attributes))
    }
    let numbers = [0, 1, 127, 128, 300, 1 << 40, .max] as [UInt64]
    for number in numbers {
      clusters.set(count, clusters.value(number))
      clusters.appendPoint(x: 0, y: 0)
    }
    var tile = VectorTile()

    tile.append(places)
    tile.append(clusters)

    let read = try VectorTileReader(tile.bytes)
    #expect(read.places == expected)
    #expect(read.clusters.map(\.attributes) == numbers.map { ["count": .unsigned($0)] })
  }

  @Test func equalTextsAreWrittenOnce() {
    var layer = VectorTileLayer(name: "places")
    let name = layer.addKey("name")
    for number in 0..<200 {
      layer.set(name, layer.value("<\(number % 100)>"))
      layer.appendPoint(x: 0, y: 0)
    }
    var tile = VectorTile()

    tile.append(layer)

    let text = String(decoding: tile.bytes, as: UTF8.self)
    #expect((0..<100).allSatisfy { text.components(separatedBy: "<\($0)>").count == 2 })
  }

  @Test func equalNumbersAreWrittenOnce() {
    func byteCount(_ numbers: [UInt64]) -> Int {
      var layer = VectorTileLayer(name: "clusters")
      let count = layer.addKey("count")
      for number in numbers {
        layer.set(count, layer.value(number))
        layer.appendPoint(x: 0, y: 0)
      }
      var tile = VectorTile()
      tile.append(layer)
      return tile.bytes.count
    }

    #expect(byteCount([300, 300]) < byteCount([300, 301]))
  }

  @Test func keyThatNoFeatureHasIsNotInTheLayer() throws {
    var layer = VectorTileLayer(name: "places")
    let (_, name, category) = (layer.addKey("unused"), layer.addKey("name"), layer.addKey("category"))
    layer.set(category, layer.value("cafe"))
    layer.appendPoint(x: 1, y: 2)
    layer.set(category, layer.value("bar"))
    layer.set(name, layer.value("A"))
    layer.appendPoint(x: 3, y: 4)
    var tile = VectorTile()

    tile.append(layer)

    #expect(
      try VectorTileReader(tile.bytes).places == [
        .init(x: 1, y: 2, attributes: ["category": .text("cafe")]),
        .init(x: 3, y: 4, attributes: ["category": .text("bar"), "name": .text("A")]),
      ])
    let text = String(decoding: tile.bytes, as: UTF8.self)
    #expect(text.contains("category") && !text.contains("unused"))
  }

  @Test func featureMayHaveNoAttributes() throws {
    var layer = VectorTileLayer(name: "places")
    layer.appendPoint(x: 1, y: 2)
    var tile = VectorTile()

    tile.append(layer)

    #expect(try VectorTileReader(tile.bytes).places == [.init(x: 1, y: 2, attributes: [:])])
  }
}
