package config

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const caFile = prefix + "CA_FILE"

// Roots are the authorities that may have signed the certificates of servers that the process calls: those of the system
// and of the file. It is nil, which is those of the system, if no file is set.
func (p *Process) Roots() (*x509.CertPool, error) { return readKey(caFile, p.CAFile, parseRoots) }

// RootsOf is Roots for commands that read no other setting of an environment in the form of os.Environ.
func RootsOf(environ []string) (*x509.CertPool, error) {
	settings := Process{CAFile: attestryVariables(environ)[caFile]}
	return settings.Roots()
}

// parseRoots adds certificates in PEM to those of the system. It refuses what is none: otherwise the server whose
// authority is missing would seem to be at fault.
func parseRoots(content []byte) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("cannot be added to the authorities of the system: %w", err)
	}
	read := 0
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("has a block %s, which is no certificate", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("has a certificate that cannot be read, after %d others: %w", read, err)
		}
		roots.AddCert(certificate)
		read++
	}
	if read == 0 {
		return nil, errors.New("has no certificate in PEM")
	}
	if begun := bytes.Count(content, []byte("-----BEGIN ")); begun > read {
		return nil, fmt.Errorf("has %d blocks of PEM, of which %d are damaged", begun, begun-read)
	}
	return roots, nil
}
