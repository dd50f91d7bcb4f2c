package edits_test

import (
	"testing"

	"nod/edits"
)

func TestLetters(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"", "abc"}: 3, {"abc", ""}: 3, {"abc", "abc"}: 0, {"abc", "abd"}: 1, {"abc", "ac"}: 1, {"ac", "abc"}: 1,
		{"apprvoals", "approvals"}: 1, {"modell", "model"}: 1, {"kitten", "sitting"}: 3, {"ab", "ba"}: 1, {"abcd", "badc"}: 2,
	} {
		if got := edits.Letters(pair[0], pair[1]); got != want {
			t.Errorf("%q: %d, want %d", pair, got, want)
		}
	}
}
