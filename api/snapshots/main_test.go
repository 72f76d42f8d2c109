package snapshots_test

import (
	"testing"

	"attestry/api/apitest"
)

func TestMain(m *testing.M) { apitest.RunTests(m) }
