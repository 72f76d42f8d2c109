package evaluation

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	ServeChild()
	os.Exit(m.Run())
}
