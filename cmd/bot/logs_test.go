package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"nod/llm"
)

// A call of the model that finds nothing at its address is logged with the address, and
// without the provider's words.
func TestNotFoundNamesItsAddress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := (&commands{}).logger(Env{Err: &out}, slog.LevelInfo)
	log.Error("call the model", "error", &llm.Error{Fault: llm.Refused, Status: 404, Where: "http://127.0.0.1:11434/chat/completions", Message: "private words"})
	if !strings.Contains(out.String(), "model refused (status 404 at http://127.0.0.1:11434/chat/completions)") || strings.Contains(out.String(), "private") {
		t.Error(out.String())
	}
}
