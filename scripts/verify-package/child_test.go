package main

import (
	"os"
	"testing"

	"attestry/app/evaluation"
)

func TestMain(m *testing.M) {
	evaluation.ServeChild()
	os.Exit(m.Run())
}
