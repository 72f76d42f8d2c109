package notify

import (
	"testing"
	"time"
)

// It would take long to see from outside.
func TestMailHasATimeLimit(t *testing.T) {
	if mailTimeLimit != 10*time.Second {
		t.Errorf("the time limit is %v", mailTimeLimit)
	}
}
