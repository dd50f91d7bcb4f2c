package slack

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/outbox"
	"nod/internal/fakeslack"
)

// plot is a post of a file that the store has.
func (o *office) plot(key string, replyTo chat.MessageRef) chat.Post {
	o.in.Do(func() { o.in.Blobs["b-plot"] = []byte("PNG of <!channel>") })
	return chat.Post{Key: key, ReplyTo: replyTo, File: &chat.File{Name: "tmp/<!here> plot.png", MediaType: "image/png", Blob: "b-plot"}}
}

// asked gives the conversation that a question begins, in each of the forms
// that there are.
func (o *office) asked(t *testing.T, form string) (chat.ThreadID, chat.MessageRef) {
	t.Helper()
	channel, text := general, "<@U0BOT> plot it"
	if form != "channel" {
		channel, text = o.fake.DM("U0ADA"), "plot it"
	}
	o.fake.Say("U0ADA", channel, text)
	o.in.Await(t, func() bool { return len(o.in.Messages) > 0 })
	m := o.in.Messages[len(o.in.Messages)-1]
	return m.Thread, m.Ref
}

// A file stands once, whatever goes wrong while it is posted and although a
// later process is not sure that it was, in every form of conversation.
func TestFileOnce(t *testing.T) {
	t.Parallel()
	const get, complete = "files.getUploadURLExternal", "files.completeUploadExternal"
	faults := map[string][]fakeslack.Fault{
		"none":            nil,
		"500 after":       {{Method: complete, Status: 500, After: true}},
		"502 before":      {{Method: complete, Status: 502}},
		"cut after":       {{Method: complete, Drop: true, After: true}},
		"fatal after":     {{Method: complete, Error: "internal_error", After: true}},
		"limited":         {{Method: complete, RetryAfter: time.Second}},
		"no address":      {{Method: get, Drop: true}},
		"unknown, unseen": {{Method: complete, Drop: true, After: true}, {Method: "conversations.replies", Status: 500}},
	}
	for _, form := range []string{"channel", "DM", "flat DM"} {
		for name, faults := range faults {
			t.Run(form+" "+name, func(t *testing.T) {
				t.Parallel()
				flat := func(opt *Options) {
					if form == "flat DM" {
						opt.DM = Flat
					}
				}
				o := open(t, fakeslack.Options{}, flat)
				th, ref := o.asked(t, form)
				for _, f := range faults {
					o.fake.Fail(f)
				}
				p := o.plot("file/c1/0", ref)
				at, err := o.a.Post(t.Context(), th, p, false)
				if err != nil && !outbox.IsLost(err) {
					t.Fatal(err)
				}
				o.stop()
				o.run(flat)
				again, err := o.a.Post(t.Context(), th, p, true)
				if err != nil || !at.IsZero() && again != at {
					t.Errorf("looked for, it is at %v, %v; it was at %v", again, err, at)
				}
				o.stands(t, th, again, 1)
				other, err := o.a.Post(t.Context(), th, o.plot("file/c1/1", ref), true)
				if err != nil || other == again {
					t.Errorf("another file of the same name is at %v, %v", other, err)
				}
				o.stands(t, th, other, 2)
			})
		}
	}
}

// stands checks how many files stand, and the one at ref.
func (o *office) stands(t *testing.T, th chat.ThreadID, ref chat.MessageRef, n int) {
	t.Helper()
	own := o.own(th)
	if len(own) != n {
		t.Fatalf("%d messages stand, want %d", len(own), n)
	}
	m := own[n-1]
	if m.TS != ref.ID || len(m.Files) != 1 || string(m.Files[0].Data) != "PNG of <!channel>" || m.Files[0].MediaType != "image/png" || m.Text != "" {
		t.Errorf("at %v stands %+v", ref, m)
	}
	if got := m.Files[0].Title; got != "_!here_ plot.png" {
		t.Errorf("people read %q", got)
	}
}

// Slack makes the message of a file a moment after it has answered. It is
// found then; and while it can't be seen, it is not made again.
func TestFileLater(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]bool{"answered": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, th, ref := called(t, fakeslack.Options{ShareAfter: 60 * time.Millisecond}, func(o *Options) { o.Settle = 50 * time.Millisecond })
			if lose {
				o.fake.Fail(fakeslack.Fault{Method: "files.completeUploadExternal", Drop: true, After: true})
			}
			p := o.plot("file/c1/0", ref)
			at, err := o.a.Post(t.Context(), th, p, false)
			if err != nil {
				t.Fatal(err)
			}
			o.stands(t, th, at, 1)
			if n := len(o.fake.Calls("files.getUploadURLExternal")); n != 1 {
				t.Errorf("it was uploaded %d times", n)
			}
		})
	}
}

// A post is found in any state of the store: a file that was erased since, and a line
// about one that came back.
func TestFileStandsAsItWas(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"file": true, "line": false} {
		t.Run(name, func(t *testing.T) {
			o, th, ref := called(t, fakeslack.Options{}, nil)
			p := o.plot("file/c1/0", ref)
			have := func(kept bool) {
				o.in.Do(func() {
					if delete(o.in.Blobs, "b-plot"); kept {
						o.in.Blobs["b-plot"] = []byte("PNG")
					}
				})
			}
			have(before)
			at, err := o.a.Post(t.Context(), th, p, false)
			if err != nil {
				t.Fatal(err)
			}
			have(!before)
			again, err := o.a.Post(t.Context(), th, p, true)
			if own := o.own(th); err != nil || again != at || len(own) != 1 {
				t.Errorf("looked for, it is at %v, %v; there stands %+v", again, err, own)
			}
		})
	}
}

// A file that Slack never shows is posted all the same, under no reference.
func TestFileUnseen(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{ShareAfter: time.Hour}, nil)
	at, err := o.a.Post(t.Context(), th, o.plot("file/c1/0", ref), false)
	if err != nil || !at.IsZero() || len(o.fake.Calls("files.completeUploadExternal")) != 1 {
		t.Errorf("Post = %v, %v", at, err)
	}
}

// Where there is no file to post, a line says so, once, and mentions nobody.
func TestNoFile(t *testing.T) {
	t.Parallel()
	refuse := func(o *office, method, word string) {
		o.fake.Fail(fakeslack.Fault{Method: method, Error: word, Times: -1})
	}
	for name, tt := range map[string]struct {
		spoil func(*office, *chat.File)
		want  string
	}{
		"never kept": {func(_ *office, f *chat.File) { f.Blob = "" }, "not kept any more"},
		"gone":       {func(_ *office, f *chat.File) { f.Blob = "b-gone" }, "not kept any more"},
		"empty":      {func(o *office, _ *chat.File) { o.in.Do(func() { o.in.Blobs["b-plot"] = []byte{} }) }, "it is empty"},
		"disabled":   {func(o *office, _ *chat.File) { refuse(o, "files.getUploadURLExternal", "file_uploads_disabled") }, "(file_uploads_disabled)"},
		"its kind":   {func(o *office, _ *chat.File) { refuse(o, "files.completeUploadExternal", "file_type_not_allowed") }, "(file_type_not_allowed)"},
	} {
		t.Run(name, func(t *testing.T) {
			o, th, ref := called(t, fakeslack.Options{}, nil)
			p := o.plot("file/c1/0", ref)
			p.File.Name = "<!channel> & @here.png"
			tt.spoil(o, p.File)
			at, err := o.a.Post(t.Context(), th, p, false)
			if err != nil {
				t.Fatal(err)
			}
			again, err := o.a.Post(t.Context(), th, p, true)
			if err != nil || again != at {
				t.Errorf("looked for, it is at %v, %v", again, err)
			}
			own := o.own(th)
			if len(own) != 1 || !strings.Contains(own[0].Text, tt.want) || !strings.Contains(own[0].Text, "_!channel_ _ _here.png") {
				t.Errorf("it says %+v", own)
			}
		})
	}
}

// A store that does not answer is no reason to say that a file is gone, and a
// channel that can't be written to is none to say anything.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{Lenient: true}, nil)
	p := o.plot("file/c1/0", ref)
	o.in.Do(func() { o.in.Fail = errors.New("the store is away") })
	if _, err := o.a.Post(t.Context(), th, p, false); err == nil || errors.Is(err, chat.ErrGone) {
		t.Errorf("Post: %v", err)
	}
	o.in.Do(func() { o.in.Fail = nil })
	o.fake.Archive(general)
	if _, err := o.a.Post(t.Context(), th, p, false); !errors.Is(err, chat.ErrGone) {
		t.Errorf("Post: %v, want %v", err, chat.ErrGone)
	}
	if own := o.own(th); len(own) != 0 {
		t.Errorf("there stands %+v", own)
	}
}

// A file of a tool can't be taken for the arguments of an approval.
func TestFileIsNoArguments(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	a := approval()
	a.Args = `{"script":"` + strings.Repeat("rm -rf x; ", 2000) + `"}`
	p := o.plot("file/c0/0", ref)
	p.File.Name = layout.ArgsFile(a.Call)
	for _, p := range []chat.Post{p, {Key: "ask/c1", ReplyTo: ref, Approval: a}} {
		if _, err := o.a.Post(t.Context(), th, p, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range o.own(th) {
		for _, f := range m.Files {
			if f.Name == layout.ArgsFile(a.Call) && string(f.Data) == a.Args {
				return
			}
		}
	}
	t.Error("the arguments do not stand in the thread")
}
