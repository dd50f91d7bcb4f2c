package front

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nod/chat"
	"nod/chat/intake"
)

// Deciders lists who is meant by rules: people whom the bot hears in a direct conversation
// and lets decide. Somebody with whom the thread is one has the card there already.
func (f *Front) Deciders(ctx context.Context, thread chat.ThreadID, rules []string, most int) (who []chat.User, unknown []string, err error) {
	partner := f.Partner(ctx, thread)
	for _, rule := range rules {
		found, known, err := f.People(ctx, thread, rule, most)
		switch {
		case err != nil:
			return nil, nil, err
		case !known:
			unknown = append(unknown, rule)
		}
		for _, u := range found {
			same := func(o chat.User) bool { return o.ID == u.ID }
			if u.ID == partner || len(who) >= most || slices.ContainsFunc(who, same) {
				continue
			}
			u, err := f.Who(ctx, "", u)
			switch {
			case err != nil && !errors.Is(err, chat.ErrGone):
				return nil, nil, fmt.Errorf("look up who may decide: %w", err)
			case err == nil && u.Barred == "" && !u.Bot:
				who = append(who, u)
			}
		}
	}
	return who, unknown, nil
}

// TakeFiles fetches and keeps the files of a message, as far as the model can use them.
func (f *Front) TakeFiles(ctx context.Context, thread chat.ThreadID, came []intake.File) []chat.File {
	return intake.Store{Keep: f.o.Inbox.Keep, Failed: func(thread chat.ThreadID, err error) {
		f.o.Logger.Warn("fetch an attached file", "thread", thread.String(), "error", err)
	}}.Take(ctx, thread, came)
}

// Allowed says whether one of the rules of who is heard names somebody who is in one of
// these channels. belongs is asked of groups and roles; where it can't tell, and no other
// rule names them, they are not heard, and the error says so.
func Allowed(rules []string, user string, channels []string, belongs func(rule string) (bool, error)) (bool, error) {
	if len(rules) == 0 {
		return true, nil
	}
	var doubt error
	for _, rule := range rules {
		kind, id, _ := strings.Cut(rule, ":")
		switch {
		case rule == "everyone", kind == "user" && id == user, kind == "channel" && slices.Contains(channels, id):
			return true, nil
		case kind == "group", kind == "role":
			if in, err := belongs(rule); in && err == nil {
				return true, nil
			} else if err != nil {
				doubt = err
			}
		}
	}
	return false, doubt
}
