package main

import (
	"os"
	"testing"

	"attestry/app/evaluation"
)

func TestMain(m *testing.M) {
	evaluation.ServeChild()
	if program := os.Getenv(measuredProgram); program != "" {
		os.Exit(measure(program, os.Args[1:]))
	}
	os.Exit(m.Run())
}
