package chat

import (
	"context"
	"errors"
	"time"
)

// Able lists a platform's abilities beyond posts and votes.
type Able struct {
	// Pace is how long the steps of a turn stay as they are at the least before they are
	// drawn again: edits are dear there. The last drawing does not wait.
	Pace time.Duration
	// Crowd says that posts of one channel are dear: where many turns run in it, answers
	// carry their steps, so that no steps message holds another answer up.
	Crowd     bool
	Wordless  bool // its sign of work has no words: the steps bear them
	Grows     bool // shows growing answers
	Asks      bool // has a form that asks one person for the mistake in an answer
	Sees      bool // knows which conversations a person sees
	Elsewhere bool // shows cards outside of their thread, and knows by name who may decide
	Reads     bool // tells what one of the bot's own cards shows now
	// Channel says whether an id is one of a channel in which a card can stand; nil: none is.
	Channel func(id string) bool
}

// Unable is for platforms without further abilities, or with some: they embed it and
// replace methods. The others are not called.
type Unable struct{}

// Able lists no ability.
func (Unable) Able() Able { return Able{} }

// Direct says that no thread is the direct conversation with one person.
func (Unable) Direct(ThreadID) bool { return false }

// Stood does not know.
func (Unable) Stood(MessageRef) time.Time { return time.Time{} }

// Grow is not called.
func (Unable) Grow(ThreadID, []Post) {}

// AskWhy is not called.
func (Unable) AskWhy(context.Context, ThreadID, User, MessageRef) error {
	return errors.ErrUnsupported
}

// Headline is not called.
func (Unable) Headline(context.Context, ThreadID, MessageRef) (Shown, error) {
	return Shown{}, errors.ErrUnsupported
}

// Visit is not called.
func (Unable) Visit(context.Context, ThreadID, User) (Visit, error) {
	return Visit{}, errors.ErrUnsupported
}

// Copy is not called.
func (Unable) Copy(context.Context, string, Post, bool) (ThreadID, MessageRef, error) {
	return ThreadID{}, MessageRef{}, ErrElsewhere
}

// Deciders is not called.
func (Unable) Deciders(_ context.Context, _ ThreadID, rules []string, _ int) ([]User, []string, error) {
	return nil, rules, nil
}
