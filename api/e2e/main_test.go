// Package e2e_test has the tests of the whole service that belong to no single package below api.
package e2e_test

import (
	"testing"

	"attestry/api/apitest"
)

func TestMain(m *testing.M) { apitest.RunTests(m) }
