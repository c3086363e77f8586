import JSONText
import Testing

@testable import APIDescription

@Suite struct SchemaTests {
  @Test func nullIsWrittenInTheWayOfEachVersion() {
    let schema = Schema(.string).orNull

    #expect(schema.json(.v3_1) == ["type": ["string", "null"]])
    #expect(schema.json(.v3_0) == ["type": "string", "nullable": true])
  }

  @Test func enumerationOfSeveralSchemasIsOneComponent() {
    let schemas: [Schema] = [.oneOf(["Feature"]), Schema(.array(of: .oneOf(["Feature"]))), .oneOf(["a", "b"])]

    #expect(schemas.components.map(\.name) == ["FeatureType"])
    #expect(schemas[0].json(.v3_1) == ["$ref": "#/components/schemas/FeatureType"])
    #expect(schemas[2].json(.v3_1) == ["type": "string", "enum": ["a", "b"]])
  }

  @Test func componentsAreInTheirOrderWithThoseTheyReferTo() {
    let inner = Schema(.string).named("Inner", order: 1)
    let outer = Schema(.object([.required("inner", inner)], others: nil)).named("Outer", order: 2)

    #expect([outer, inner].components.map(\.name) == ["Inner", "Outer"])
    #expect([outer].components.map(\.name) == ["Inner", "Outer"])
  }
}
