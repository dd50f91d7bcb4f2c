package python

import (
	"strings"
	"testing"
)

func TestIsIdentifier(t *testing.T) {
	for name, want := range map[string]bool{
		"df": true, "_": true, "x1": true, "größe": true, "表２": true, strings.Repeat("ä", 60): true,
		"": false, "1x": false, "a b": false, "a-b": false, "x\n": false, "\xff": false, strings.Repeat("x", 61): false,
	} {
		if isIdentifier(name) != want {
			t.Errorf("isIdentifier(%q) = %v", name, !want)
		}
	}
}
