package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"nod/chat"
	"nod/llm"
	"nod/setting"
)

// Keys are the configuration of a built-in tool: a struct whose tags give each key's
// name (yaml), meaning (doc), default and rules, in the words of cmd/bot/config. Its
// zero value is never made; the defaults are filled in.
type Keys interface {
	// Make makes the tools, once, at the start. A *Missing says that they are off;
	// any other error ends the program.
	Make(ctx context.Context, h Host) (Made, error)
}

// Host is the program's part of a tool, besides its own keys.
type Host struct {
	Folder  string        // for files of this tool and no other; it may not be there yet
	Keep    time.Duration // threads that nobody touched for so long are erased
	BaseURL string        // of the model's endpoint
	APIKey  setting.Secret
	Proxy   *url.URL // for the web; nil: none
	Log     *slog.Logger
}

// Made is the tools of one section.
type Made struct {
	Tools []Tool
	// Close ends what they left running, and Forget erases what they keep of a thread;
	// nil: nothing.
	Close  func() error
	Forget func(chat.ThreadID) error
}

// One is a single tool that leaves and keeps nothing.
func One(t Tool) (Made, error) { return Made{Tools: []Tool{t}}, nil }

// New makes a Tool of the prose that the model reads, the JSON Schema of the parameters,
// and a function that has the arguments as a struct.
func New[A any](name, prose, parameters string, run func(ctx context.Context, in Input, arg A) (llm.Result, error)) Tool {
	return Tool{
		Tool: llm.Tool{Name: name, Description: strings.TrimSpace(prose), Parameters: json.RawMessage(parameters)},
		Run: func(ctx context.Context, in Input) (llm.Result, error) {
			var arg A
			if err := json.Unmarshal(in.Args, &arg); err != nil {
				return llm.Result{}, fmt.Errorf("read arguments: %w", err)
			}
			return run(ctx, in, arg)
		},
	}
}
