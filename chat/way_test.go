package chat_test

import (
	"testing"

	"nod/chat"
)

func TestWithoutCode(t *testing.T) {
	for text, want := range map[string]string{
		"y 1 123456": "y 1", "Y 123 456": "Y", " yes 12 123456 ": "yes 12", "allow 3 000000": "allow 3",
		"y 1": "", "y 1 12345": "", "n 1 123456": "", "allow 1 1h": "", "y 1 1234567": "", "yes, 123456 of them": "",
	} {
		if word, ok := chat.WithoutCode(text); ok != (want != "") || ok && word != want || !ok && word != text {
			t.Errorf("%q: %q, %v", text, word, ok)
		}
	}
}
