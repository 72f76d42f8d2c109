package server

// productTable is the product's route table. Tests outside of this package set it, because the packages that make it
// import this one.
var productTable []Route

func productRoutes() []Route { return productTable }

func SetProductTable(table []Route) { productTable = table }
