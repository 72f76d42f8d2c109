package server

// productTable is the product's table, which the tests outside of this package set: it is
// made by packages that import this one.
var productTable []Route

func productRoutes() []Route { return productTable }

// SetProductTable sets the product's table.
func SetProductTable(table []Route) { productTable = table }
