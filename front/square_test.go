package front_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"nod/agent/run"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
	"nod/internal/script"
)

// square is a made-up platform: a place where people stand around a board. It is all that
// a wire has to be. What people react with stands until they take it off, also while no
// process listens.
type square struct {
	*script.Board
	stands *standing
}

// standing is the reactions that stand on the square, and what people wrote there while
// nobody listened.
type standing struct {
	mu     sync.Mutex
	on     map[chat.MessageRef][]chat.Reaction
	far    error  // why nothing can be seen from afar; nil: all can
	missed func() // puts the messages of a gap
	seen   func() // is called once somebody has looked at a message
}

// put puts a reaction on its message, or takes it off.
func (s *standing) put(r chat.Reaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := func(o chat.Reaction) bool { return o.By.ID == r.By.ID && o.Emoji == r.Emoji }
	left := slices.DeleteFunc(slices.Clone(s.on[r.On]), same)
	if !r.Removed {
		left = append(left, r)
	}
	s.on[r.On] = left
}

// stage is the front of a process, on the square.
type stage struct {
	*front.Front
	stands *standing
}

// newStage makes the stages of a conversation.
func newStage() script.NewStage {
	stands := &standing{on: map[chat.MessageRef][]chat.Reaction{}}
	return func(b *script.Board, inbox run.Inbox) script.Stage {
		f := front.New(square{Board: b, stands: stands}, front.Options{
			Common: front.Common{Inbox: inbox, Settle: time.Millisecond}, Platform: "board", Room: script.Room,
		})
		return stage{f, stands}
	}
}

// Reacts has a person react. Nobody tells the front of a reaction that is found later.
func (s stage) Reacts(ctx context.Context, r chat.Reaction, event string) error {
	s.stands.put(r)
	if r.Found {
		return s.FindVotes(ctx)
	}
	return s.Reacted(ctx, r, false, event)
}

func (s square) Send(ctx context.Context, thread chat.ThreadID, m front.Message, look bool) (chat.MessageRef, error) {
	return s.Board.Post(ctx, thread, m.Post, look)
}

func (s square) Change(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, m front.Message) error {
	if m.Skip != nil && m.Skip() {
		return nil
	}
	return s.Board.Edit(ctx, thread, ref, m.Post)
}

// Mark puts an emoji on a message. Those of a ballot are no news.
func (s square) Mark(ctx context.Context, ref chat.MessageRef, emoji string, p outbox.Priority) error {
	if p == outbox.Approval {
		return nil
	}
	return s.Board.React(ctx, ref, emoji)
}

func (square) Link(_ context.Context, _ chat.ThreadID, ref chat.MessageRef) string {
	return "board:" + ref.ID
}

func (s square) Reactions(_ context.Context, p chat.Pending, _ bool) ([]chat.Reaction, error) {
	s.stands.mu.Lock()
	on := slices.Clone(s.stands.on[p.Ref])
	s.stands.mu.Unlock()
	if s.stands.seen != nil {
		s.stands.seen()
	}
	return on, s.stands.far
}

func (s square) Since(context.Context, []chat.Watermark, time.Duration) (bool, error) {
	if s.stands.far == nil && s.stands.missed != nil {
		s.stands.missed()
	}
	return true, s.stands.far
}

func (s square) Who(ctx context.Context, channel string, u chat.User) (chat.User, error) {
	u.Name = string(u.ID)
	return s.Board.Who(ctx, channel, u)
}

func (s square) People(ctx context.Context, thread chat.ThreadID, rule string, most int) ([]chat.User, bool, error) {
	who, unknown, err := s.Board.Deciders(ctx, thread, []string{rule}, most)
	return who, len(unknown) == 0, err
}

func (square) Partner(context.Context, chat.ThreadID) chat.UserID { return "" }

// Place opens every place but one that is closed, or of a person who takes no messages.
func (s square) Place(_ context.Context, place string) (chat.ThreadID, error) {
	at := chat.ThreadID{Platform: s.Platform, Channel: place}
	if s.Closed(place) {
		refused := chat.Refused{Platform: "Board", Code: "closed"}
		return at, front.Gone{Said: refused, Err: refused}
	}
	return at, nil
}
