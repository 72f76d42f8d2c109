package outbound

import "testing"

func TestHostsThatAreNumbersAreRefusedUnlessTheyAreAddresses(t *testing.T) {
	for host, want := range map[string]bool{
		"example.com":            true,
		"example.com.":           true,
		"localhost":              true,
		"db-1":                   true,
		"1.example":              true,
		"0x7f.example.com":       true,
		"0xyz":                   true,
		"x0x7f":                  true,
		"127.0.0.1":              true, // the guard refuses it
		"8.8.8.8":                true,
		"[::1]":                  true,
		"[::ffff:127.0.0.1]":     true,
		"[::1%lo]":               false,
		"[::ffff:127.0.0.1%lo]":  false,
		"":                       false,
		"0":                      false,
		"1":                      false,
		"127.1":                  false,
		"127.0.1":                false,
		"2130706433":             false,
		"0177.0.0.1":             false,
		"127.0.0.01":             false,
		"017700000001":           false,
		"0x7f000001":             false,
		"0X7F000001":             false,
		"0x7F.0.0.1":             false,
		"0x7f.1":                 false,
		"127.0.0.0x1":            false,
		"0x":                     false,
		"127.0.0.1.":             false,
		"127.0.0.1..":            false,
		"127.0.0.256":            false,
		"4294967297":             false,
		"example.1":              false,
		"[::ffff:127.0.0.01]":    false,
		"[::ffff:0x7f.0.0.1]":    false,
		"00000000000000000177.1": false,
	} {
		t.Run(host, func(t *testing.T) {
			if err := checkHost(host + ":80"); (err == nil) != want || err != nil && !Prohibited(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}
