package storage

import (
	"fmt"
	"strings"
)

// maxScope bounds the length of a scope, which is part of file names.
const maxScope = 128

// ObjectKey is the key of an object with the given content in a scope.
func ObjectKey(scope, sum string) string {
	return scope + "/sha256/" + sum[:2] + "/" + sum[2:]
}

// ParseObjectKey describes the object of a key, without its size. It accepts only keys of ObjectKey, so that none
// leads out of its scope.
func ParseObjectKey(key string) (Object, error) {
	scope, digest, _ := strings.Cut(key, "/sha256/")
	sum := strings.Replace(digest, "/", "", 1)
	if !ValidScope(scope) || !validSum(sum) || ObjectKey(scope, sum) != key {
		return Object{}, fmt.Errorf("invalid object key %q", key)
	}
	return Object{Key: key, SHA256: sum}, nil
}

// ValidScope accepts letters, digits, and after the first of them also ".", "_" and "-".
func ValidScope(scope string) bool {
	if scope == "" || len(scope) > maxScope || strings.ContainsRune("._-", rune(scope[0])) {
		return false
	}
	return strings.IndexFunc(scope, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}) < 0
}

func validSum(sum string) bool {
	return len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == ""
}
