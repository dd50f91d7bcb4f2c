//go:build !linux

package python

import (
	"context"

	"nod/chat"
	"nod/tools"
)

// Python is the tool where there is a sandbox, which is on Linux only.
type Python struct{}

// New makes no tool.
func New(context.Context, Options) (*Python, error) {
	return nil, &tools.Missing{Why: "python is off: its sandbox needs Linux"}
}

// Tool gives nothing that could run.
func (*Python) Tool() tools.Tool { return tools.Tool{} }

// Forget does nothing.
func (*Python) Forget(chat.ThreadID) error { return nil }

// Close does nothing.
func (*Python) Close() error { return nil }
