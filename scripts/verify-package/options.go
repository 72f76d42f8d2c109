package main

import (
	_ "embed" // usage.txt
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"attestry/evidence/audit"
	"attestry/evidence/translog"
)

//go:embed usage.txt
var usage string

const (
	defaultMemory = audit.DefaultMemory >> 20
	minMemory     = 32
)

// errHelp is returned after the usage was printed on request.
var errHelp = errors.New("the usage was asked for")

type options struct {
	file   string
	sha256 string // "" for no comparison
	memory int64  // bytes
	// Keys are the trusted verifier keys. Without any, no signature is verified.
	Keys []string
	// log is the URL of the log, "" for none, token the API key for it.
	log, token string
	// Kept is an earlier checkpoint of the log, nil for none.
	Kept *translog.Checkpoint
}

func parse(args []string, out io.Writer) (options, error) {
	flags := flag.NewFlagSet("verify-package", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	digest := flags.String("sha256", "", "")
	memory := flags.Int64("memory", defaultMemory, "")
	keys := flags.String("log-key", "", "")
	log := flags.String("log", "", "")
	token := flags.String("token", "", "")
	kept := flags.String("checkpoint", "", "")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(out, usage, defaultMemory, minMemory)
		return options{}, errHelp
	}
	o := options{file: flags.Arg(0), sha256: strings.ToLower(*digest), memory: *memory << 20, log: strings.TrimSuffix(*log, "/")}
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
	case *log != "" && *keys == "":
		return options{}, errors.New("--log needs --log-key: the log is verified by it")
	case *kept != "" && *log == "":
		return options{}, errors.New("--checkpoint needs --log: only the entries of the log prove that it continues from a checkpoint")
	}
	return o, o.readFiles(*keys, *token, *kept)
}

func (o *options) readFiles(keys, token, kept string) (err error) {
	if keys == "" {
		return nil
	}
	if o.Keys, err = translog.ParseVerifiers(keys); err != nil {
		content, err := os.ReadFile(keys)
		if err == nil {
			o.Keys, err = translog.ParseVerifiers(string(content))
		}
		if err != nil {
			return fmt.Errorf("--log-key takes a verifier key, name+hash+key, or a file of them: %s %w", keys, err)
		}
	}
	if token != "" {
		content, err := os.ReadFile(token)
		if err != nil {
			return fmt.Errorf("--token: %w", err)
		}
		o.token = strings.TrimSpace(string(content))
	}
	if kept == "" {
		return nil
	}
	content, err := os.ReadFile(kept)
	if err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	checkpoint, err := translog.OpenCheckpoint(string(content), o.Keys...)
	o.Kept = &checkpoint
	if err != nil {
		return fmt.Errorf("--checkpoint: %s is no checkpoint that a trusted key has signed: %w", kept, err)
	}
	return nil
}
