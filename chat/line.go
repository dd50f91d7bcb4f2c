package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Flat is a text on one line.
func Flat(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// FirstOf is the first text that is not blank, without the space around it.
func FirstOf(all ...string) string {
	for _, s := range all {
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}

// Sum is the SHA-256 of a text in hex, for people to compare.
func Sum(s string) string {
	d := sha256.Sum256([]byte(s))
	return hex.EncodeToString(d[:])
}
