package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A program that does not read holds up nobody whose call is over. What of a message it
// got until then is a line of its own, and not the beginning of the next one.
func TestWriteIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	s, err := newServer(Server{Name: "test", Command: []string{"sh", "-c", "dd bs=1 count=1 >/dev/null 2>&1; : >begun; exec cat"}},
		Options{Dir: dir, pace: quick, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := startChild(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	params, err := json.Marshal(map[string]string{"text": strings.Repeat("x", 4<<20)}) // more than it and its pipes hold
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() { written <- c.Write(ctx, &jsonrpc.Request{Method: "large", Params: params}) }()
	eventually(t, "it reads", func() bool { return touched(dir, "begun") })
	waiting, leave := context.WithCancel(t.Context())
	leave()
	if err := c.Write(waiting, &jsonrpc.Request{Method: "behind"}); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever waits for their turn: %v", err)
	}
	cancel()
	if err := <-written; !errors.Is(err, context.Canceled) {
		t.Errorf("whoever writes: %v", err)
	}
	go func() { written <- c.Write(t.Context(), &jsonrpc.Request{Method: "next"}) }()
	got := make(chan jsonrpc.Message, 1)
	go func() {
		msg, _ := c.Read(t.Context())
		got <- msg
	}()
	if err := <-written; err != nil {
		t.Errorf("the next one: %v", err)
	}
	_ = c.in.Close()
	if msg, ok := (<-got).(*jsonrpc.Request); !ok || msg.Method != "next" {
		t.Errorf("it got %v", msg)
	}
}
