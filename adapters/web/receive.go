package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"nod/adapters/web/door"
	"nod/chat"
	"nod/chat/intake"
)

// Caps of what a form may bring.
const (
	mostText  = 40_000                                   // characters of a message
	mostForm  = intake.MostFiles*intake.MostFile + 1<<20 // bytes
	inMemory  = 1 << 20                                  // of a form; the rest waits on disk
	mostEmoji = 32                                       // bytes
)

// wrong is an error of whoever sent a form, in words for them.
type wrong struct {
	status int
	say    string
}

func (w wrong) Error() string { return w.say }

// taker takes in a form, and says which view to go on with.
type taker func(r *http.Request, v view, id string) (view, error)

// about takes in a form that is about an item, which find finds.
func about(find func(*http.Request, view) (item, error), do func(r *http.Request, v view, it item, id string) error) taker {
	return func(r *http.Request, v view, id string) (view, error) {
		it, err := find(r, v)
		if err == nil {
			err = do(r, v, it, id)
		}
		return v, err
	}
}

// form handles a form, which do takes in.
func (a *Adapter) form(do taker) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A browser that sends a file slowly is no reason to give up on it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Minute))
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		next, err := a.take(r, do)
		var bad wrong
		switch {
		case errors.As(err, &bad):
			http.Error(w, bad.say, bad.status)
		case err != nil:
			a.log.Error("take in a form", "form", r.URL.Path, "error", err)
			http.Error(w, "That was not taken in, as the store does not answer. Please try again.", http.StatusServiceUnavailable)
		case r.Header.Get("Accept") == "application/json":
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]string{"go": next.url("/")}) // the browser is gone
		default:
			http.Redirect(w, r, next.url("/"), http.StatusSeeOther)
		}
	}
}

func (a *Adapter) take(r *http.Request, do taker) (view, error) {
	err := r.ParseMultipartForm(inMemory)
	if errors.Is(err, http.ErrNotMultipart) {
		err = r.ParseForm()
	}
	if r.MultipartForm != nil {
		defer func() { _ = r.MultipartForm.RemoveAll() }()
	}
	if err != nil {
		return view{}, wrong{http.StatusBadRequest, "This form can't be read; perhaps it is too large."}
	}
	id, ok := cleanID(r.PostForm.Get("id"))
	if !ok {
		return view{}, wrong{http.StatusBadRequest, "This form is incomplete. Load the page again."}
	}
	if _, ok := person(r.PostForm.Get("as")); !ok {
		return view{}, wrong{http.StatusBadRequest, "Nobody here is called that."}
	}
	return do(r, a.view(r.PostForm), id)
}

// say takes in a message.
func (a *Adapter) say(r *http.Request, v view, id string) (view, error) {
	text := strings.TrimSpace(door.Clean(r.PostForm.Get("text")))
	files := r.MultipartForm
	switch {
	case v.Channel == terminalName:
		return v, wrong{http.StatusForbidden, "This conversation goes on in the terminal."}
	case utf8.RuneCountInString(text) > mostText:
		return v, wrong{http.StatusRequestEntityTooLarge, fmt.Sprintf("A message may have %d characters. A longer text can be attached as a file.", mostText)}
	case text == "" && (files == nil || len(files.File["file"]) == 0):
		return v, wrong{http.StatusBadRequest, "There is nothing to send."}
	}
	s := said{thread: v.thread(), id: id, by: v.Me, text: text}
	if s.thread == (chat.ThreadID{}) {
		s.thread = threadID(v.Channel, id)
		v.Root = id
	}
	return v, a.message(r.Context(), s, attachments(files))
}

// message puts a message on the board, and into the inbox where it is for the
// bot. It stands on the board first, so that no answer comes before it.
func (a *Adapter) message(ctx context.Context, s said, files []intake.File) error {
	m, err := a.convert(ctx, s)
	ours := err == nil
	if err != nil && !errors.Is(err, errNotOurs) {
		return err
	}
	m.Files = a.TakeFiles(ctx, s.thread, files)
	shown := m
	shown.Text = s.text
	a.board.put(item{ref: m.Ref, thread: s.thread, at: m.Sent, message: &shown})
	if !ours {
		return nil
	}
	if _, err := a.o.Inbox.Message(ctx, s.thread, m, eventID("message", s.id)); err != nil {
		a.board.change(m.Ref, func(it *item) bool { it.gone = true; return true })
		return fmt.Errorf("put a message: %w", err)
	}
	return nil
}

// attachments are the files of a form.
func attachments(f *multipart.Form) []intake.File {
	if f == nil {
		return nil
	}
	var out []intake.File
	for _, h := range f.File["file"] {
		if h.Filename == "" {
			continue
		}
		out = append(out, intake.File{
			File:  chat.File{Name: chat.FileName(h.Filename), MediaType: mediaType(h), Size: h.Size},
			Fetch: func(_ context.Context, most int64) ([]byte, error) { return readPart(h, most) },
		})
	}
	return out
}

// mediaType is what a file is said to be. A browser knows that by the file's name,
// and of a .log or a .yaml knows nothing; then the file's beginning says it.
func mediaType(h *multipart.FileHeader) string {
	const unknown = "application/octet-stream"
	if kind := h.Header.Get("Content-Type"); kind != "" && kind != unknown {
		return kind
	}
	begin, err := beginning(h, 512) // more is not looked at
	if err != nil {
		return unknown
	}
	return http.DetectContentType(begin)
}

func readPart(h *multipart.FileHeader, most int64) ([]byte, error) {
	data, err := beginning(h, most+1)
	if int64(len(data)) > most {
		return nil, errors.New("read a file: it is larger than it was said to be")
	}
	return data, err
}

// beginning reads so many bytes of a file, or all that it has.
func beginning(h *multipart.FileHeader, n int64) ([]byte, error) {
	f, err := h.Open()
	if err != nil {
		return nil, fmt.Errorf("open a file: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, n))
	if err != nil {
		return nil, fmt.Errorf("read a file: %w", err)
	}
	return data, nil
}

// on finds the message that a form is about.
func (a *Adapter) on(r *http.Request, _ view) (item, error) {
	var ref chat.MessageRef
	if err := ref.UnmarshalText([]byte(r.PostForm.Get("ref"))); err != nil {
		return item{}, wrong{http.StatusBadRequest, "There is no such message."}
	}
	it, ok := a.board.find(ref)
	switch {
	case !ok:
		return item{}, wrong{http.StatusNotFound, "There is no such message."}
	case it.thread.Platform != Platform:
		return item{}, wrong{http.StatusForbidden, "This conversation goes on in the terminal."}
	}
	return it, nil
}

// react takes in an emoji that somebody put on a message, or took back.
func (a *Adapter) react(r *http.Request, v view, it item, id string) error {
	removed := r.PostForm.Get("removed")
	emoji := chat.NormalEmoji(cmp.Or(removed, r.PostForm.Get("emoji")))
	if emoji == "" || len(emoji) > mostEmoji {
		return wrong{http.StatusBadRequest, "That is no emoji."}
	}
	put := chat.Reaction{On: it.ref, By: v.Me, Emoji: emoji, Removed: removed != ""}
	if outdated(r, it, put) {
		return errOutdated
	}
	if _, err := a.o.Inbox.Reaction(r.Context(), put, eventID("reaction", id)); err != nil {
		return fmt.Errorf("put a reaction: %w", err)
	}
	a.board.change(it.ref, func(it *item) bool { return it.react(emoji, v.Me.ID, put.Removed) })
	return nil
}

// errOutdated says that somebody would approve what they have not seen.
var errOutdated = wrong{http.StatusConflict, "This call was changed after your page was drawn. Load the page again and look at it before you approve it."}

// outdated says whether an approval comes from a page that shows other arguments than
// those that would run: one that has lost its connection, or has no script, may have been
// drawn before somebody changed them.
func outdated(r *http.Request, it item, put chat.Reaction) bool {
	if !it.waiting() || put.Removed {
		return false
	}
	p := it.post.Approval
	return votes(put.Emoji, p.Approve) && r.PostForm.Get("digest") != p.Digest
}
