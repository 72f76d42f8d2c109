package main

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"attestry/evidence/audit"
)

const usage = `usage: verify-package [--sha256 DIGEST] [--memory MIB] PACKAGE

Verifies an audit package, without a network and without a database: that its
members are those of its manifest, that nothing follows them, and that the
verdicts in it follow from the facts in it.

  --sha256 DIGEST  also compares the SHA-256 of the file with the one that the
                   service told (64 hexadecimal digits)
  --memory MIB     takes so much memory at most (default %d; at least %d)
  --help           prints this text

It ends with 0 if all of that holds, with 1 if something was altered or does not
follow, or if to verify it takes more memory, and with 2 if the file is no audit
package. Rules of custom attestation types are evaluated in other processes.
`

const (
	defaultMemory = audit.DefaultMemory >> 20
	minMemory     = 32
)

// errHelp is for arguments that ask for the usage, which has been printed.
var errHelp = errors.New("the usage was asked for")

type options struct {
	file   string
	sha256 string // "" to compare none
	memory int64  // bytes
}

func parse(args []string, out io.Writer) (options, error) {
	flags := flag.NewFlagSet("verify-package", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	digest := flags.String("sha256", "", "")
	memory := flags.Int64("memory", defaultMemory, "")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(out, usage, defaultMemory, minMemory)
		return options{}, errHelp
	}
	o := options{file: flags.Arg(0), sha256: strings.ToLower(*digest), memory: *memory << 20}
	given := false
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == "sha256" })
	sum, malformed := hex.DecodeString(o.sha256)
	switch {
	case err != nil:
		return options{}, err
	case flags.NArg() != 1:
		return options{}, errors.New("name one package, behind the flags")
	case given && (malformed != nil || len(sum) != 32):
		return options{}, errors.New("--sha256 takes 64 hexadecimal digits")
	case *memory < minMemory || *memory > 1<<20:
		return options{}, fmt.Errorf("--memory takes a number of MiB, from %d", minMemory)
	}
	return o, nil
}
