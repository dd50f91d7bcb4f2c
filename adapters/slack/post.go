package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/outbox"
	"nod/front"
)

type sending struct {
	a        *Adapter
	thread   chat.ThreadID
	post     chat.Post
	priority outbox.Priority
	stands   map[int]string // parts that are there, by number
	files    []shared       // files of the bot's that are there
}

// send makes one message, in the first form that Slack takes. What Slack has trouble
// with again and again, while it lets itself be read, is tried in plainer forms.
func (s *sending) send(ctx context.Context, n int, forms layout.Part) (string, error) {
	return s.a.Deliver(ctx, s.thread, front.Attempt{
		Stands: func() string { return s.stands[n] },
		Make: func(ctx context.Context) (string, error) {
			ts, err := s.once(ctx, n, forms[0])
			if err == nil {
				s.a.shapes.Took(forms[0])
			}
			return ts, err
		},
		Rewrite: func(_ context.Context, err error, lost int) (bool, error) {
			if !api.RefusedForm(err) && (lost < front.MostTries || api.Troubled(err) == "") || len(forms) == 1 {
				return false, nil
			}
			s.a.log.Warn("slack refused how a message was written, a plainer form follows", "thread", s.thread.String(), "error", err)
			s.a.shapes.Refused(forms[0], s.post.Key, err)
			forms = forms[1:]
			return true, nil
		},
		Look: s.look,
	})
}

// sendOr is send, and a plain word where Slack takes no form. The word is tried, too,
// where Slack says that nothing can be written there, or has trouble with every form: it
// may be about this message alone.
func (s *sending) sendOr(ctx context.Context, n int, forms layout.Part) (string, error) {
	ts, err := s.send(ctx, n, forms)
	if api.Troubled(err) != "" && ctx.Err() == nil { // once more as it is: Slack may have got over it
		ts, err = s.send(ctx, n, forms[:1])
	}
	shut := api.Troubled(err) != "" || errors.Is(api.Gone(err), chat.ErrGone) && !api.RefusedForm(err)
	if !api.RefusedForm(err) && !shut {
		return ts, err
	}
	if !shut {
		s.a.log.Error("slack refused a message in every form", "thread", s.thread.String(), "error", err)
	}
	ts, again := s.send(ctx, n, layout.Part{{Text: layout.Escape(api.Refusal(cmp.Or(api.Code(err), api.Troubled(err))).Notice() + "."), Plain: true}})
	if again != nil && shut {
		return "", err
	}
	return ts, again
}

func (s *sending) once(ctx context.Context, n int, f layout.Form) (string, error) {
	args, err := f.Message(api.ChannelOf(s.thread.Channel))
	if err != nil {
		return "", err
	}
	if s.thread.Root != "" {
		args.Set("thread_ts", s.thread.Root)
	}
	args.Set("metadata", layout.Marked(s.post, n, s.a.Signature(s.thread, s.post.Key)))
	args.Set("unfurl_links", "false")
	args.Set("unfurl_media", "false")
	ts := ""
	err = s.a.web.Call(ctx, api.Request{
		Method: "chat.postMessage", Args: args, Priority: s.priority, Group: s.thread.String(), Answer: &ts, Field: "ts",
	})
	if err == nil && ts == "" {
		err = &outbox.Lost{Call: "chat.postMessage", Err: errors.New("the answer names no message")}
	}
	return ts, err
}

// look finds which messages of the post stand already: the bot's own, with the
// post's key in their metadata.
func (s *sending) look(ctx context.Context) error {
	h := api.History{
		Channel: api.ChannelOf(s.thread.Channel), Thread: s.thread.Root, Oldest: s.post.ReplyTo.ID, Priority: s.priority, Pages: 20,
	}
	if h.Thread == "" && h.Oldest == "" {
		h.Oldest = api.Stamp(s.a.o.Now().Add(-catchup.LookBack))
	}
	msgs, err := s.a.web.Read(ctx, h)
	switch {
	case api.Code(err) != "" && !api.Dead(err):
		// The bot may not read there, or the thread's root is gone: that it can't
		// look is no reason to say nothing.
		s.a.log.Warn("look for a post", "thread", s.thread.String(), "error", err)
	case err != nil:
		return fmt.Errorf("look for the post: %w", err)
	}
	who := s.a.who()
	s.stands, s.files = map[int]string{}, nil
	for _, ev := range msgs {
		if !ev.By(who) {
			continue
		}
		for _, f := range filesOf(ev) {
			s.files = append(s.files, shared{f.Name, ev.TS})
		}
		if m, ok := markOf(ev); ok && m.Payload.Key == s.post.Key {
			n := m.Payload.Part
			if ts, known := s.stands[n]; !known || api.SentAt(ev.TS).Before(api.SentAt(ts)) {
				s.stands[n] = ev.TS
			}
		}
	}
	return nil
}

func filesOf(ev api.Event) []file {
	var files []file
	if len(ev.Files) == 0 || json.Unmarshal(ev.Files, &files) != nil {
		return nil
	}
	return files
}

func markOf(ev api.Event) (m layout.Metadata, ok bool) {
	ok = len(ev.Metadata) > 0 && json.Unmarshal(ev.Metadata, &m) == nil && m.Type == layout.Mark && m.Payload.Key != ""
	return m, ok
}

// shareAnswer puts an answer that is too long for messages into a file, and gives
// what is left to be said in messages: its beginning.
func (s *sending) shareAnswer(ctx context.Context, parts []layout.Part) ([]layout.Part, error) {
	if len(parts) <= layout.MostReplies {
		return parts, nil
	}
	mark := s.post.Mark(s.thread)
	err := s.share(ctx, upload{mark: mark, name: chat.MarkedName("answer.md", mark), title: "answer.md", data: []byte(s.post.Text.Markdown)})
	switch {
	case err == nil:
		begin := layout.Closed(parts[0], s.post.Text, s.a.card(s.thread))
		return []layout.Part{begin, {{Text: "The answer is longer: the file answer.md has all of it.", Plain: true}}}, nil
	case !api.RefusedForm(err):
		return nil, err
	case len(parts) <= layout.MostPlainReplies:
		return parts, nil
	}
	parts[layout.MostPlainReplies-1] = layout.Closed(parts[layout.MostPlainReplies-1], s.post.Text, s.a.card(s.thread))
	return append(parts[:layout.MostPlainReplies:layout.MostPlainReplies], layout.Part{{Text: "The answer is longer than can be shown here.", Plain: true}}), nil
}
