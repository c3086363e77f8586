// What speaks of places speaks of `Coordinate` and `BoundingBox`. A typealias would name them, but where an app has
// `MemberImportVisibility` on, their initialisers and properties would still ask for a module that is no product.
@_exported public import Geo
