package chat

import (
	"errors"
	"net/url"
	"strings"
)

// ThreadID names one conversation. Adapters mint it, and they alone know the meaning of
// Channel and Root on their platform; the rest of the program compares and prints it.
// Stores keep a Channel together. So a reaction can only lead to threads of its
// message's Channel.
type ThreadID struct {
	Platform string // "slack", "discord", "terminal"
	Channel  string // workspace and channel, as the adapter writes them
	Root     string // tells threads of one channel apart; may be empty
}

// String gives the form that logs, stores and `bot audit --thread` use:
// platform/channel/root, each part percent-escaped.
func (t ThreadID) String() string {
	return joinID(t.Platform, t.Channel, t.Root)
}

// MarshalText makes a ThreadID usable as a JSON string and map key.
func (t ThreadID) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (t *ThreadID) UnmarshalText(text []byte) error {
	parsed, err := ParseThreadID(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// ParseThreadID reads the output of String.
func ParseThreadID(s string) (ThreadID, error) {
	parts, err := splitID(s)
	return ThreadID{Platform: parts[0], Channel: parts[1], Root: parts[2]}, err
}

// MessageRef names one message on a platform, a person's or the bot's own.
// The zero MessageRef names none.
type MessageRef struct {
	Platform string
	Channel  string // as in ThreadID
	ID       string
}

// IsZero says whether the reference names nothing.
func (r MessageRef) IsZero() bool { return r == MessageRef{} }

// String gives platform/channel/id, each part percent-escaped.
func (r MessageRef) String() string { return joinID(r.Platform, r.Channel, r.ID) }

// MarshalText makes a MessageRef usable as a JSON string and map key.
func (r MessageRef) MarshalText() ([]byte, error) {
	if r.IsZero() {
		return nil, nil
	}
	return []byte(r.String()), nil
}

// UnmarshalText is the inverse of MarshalText.
func (r *MessageRef) UnmarshalText(text []byte) error {
	parsed, err := ParseMessageRef(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// ParseMessageRef reads the output of String; "" is the zero MessageRef.
func ParseMessageRef(s string) (MessageRef, error) {
	if s == "" {
		return MessageRef{}, nil
	}
	parts, err := splitID(s)
	return MessageRef{Platform: parts[0], Channel: parts[1], ID: parts[2]}, err
}

// UserID names a person (or a bot) on one platform.
type UserID string

var errID = errors.New("want three parts, platform/channel/id")

func joinID(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

func splitID(s string) (out [3]string, err error) {
	for i := range out {
		part, rest, more := strings.Cut(s, "/")
		if more != (i < len(out)-1) {
			return [3]string{}, errID
		}
		if out[i], err = url.PathUnescape(part); err != nil || out[0] == "" {
			return [3]string{}, errID
		}
		s = rest
	}
	return out, nil
}
