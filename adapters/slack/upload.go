package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/outbox"
	"nod/chat/retry"
	"nod/front"
)

// Files go out in three calls: ask for an address, send the content there, and
// complete the upload, which makes the message
// (https://docs.slack.dev/messaging/working-with-files#upload). The first two
// may be repeated; the third is what must not happen twice, and it takes no
// metadata. So the name of a file bears the mark of its post, and the thread is
// searched for it. People don't see that name: they see the title, which is the
// name that the tool gave, and meet the other one when they save the file.
//
// The other ways are worse. Showing an uploaded file in a message of our own,
// which has metadata, works for pictures only (the slack_file of an image
// block), and is refused while Slack is still at work on the upload. The comment
// of an upload and the text for those who don't see it are for people to read.

type upload struct {
	mark  string // by which its name is known again; the name itself where nothing else can have it
	name  string
	title string
	data  []byte
}

// shared is a file of the bot's that stands in the thread.
type shared struct {
	name string
	ts   string // of its message
}

// fileAt gives the message of the file whose name bears a mark, or is the mark;
// "" if there is none.
func (s *sending) fileAt(mark string) string {
	for _, f := range s.files {
		if f.name == mark || chat.HasMark(f.name, mark) {
			return f.ts
		}
	}
	return ""
}

// sendFile posts a file, unless it stands already. Where there is nothing to
// post, or Slack does not take it, a line says so. It returns the timestamp of
// the message; "" when that could not be found.
func (s *sending) sendFile(ctx context.Context) (string, error) {
	f := s.post.File
	u := upload{mark: s.post.Mark(s.thread), title: chat.FileName(f.Name)}
	u.name = chat.MarkedName(f.Name, u.mark)
	if ts := chat.FirstOf(s.fileAt(u.mark), s.stands[0]); ts != "" {
		return ts, nil
	}
	data, err := f.Content(func(blob string) ([]byte, error) { return s.a.o.Inbox.Blob(ctx, s.thread, blob) })
	switch {
	case err != nil:
		return "", err
	case len(data) == 0:
		return s.line(ctx, fmt.Sprintf("The file %s can't be shown: it is empty, or not kept any more.", u.title))
	}
	u.data = data
	switch err := s.share(ctx, u); {
	case err == nil:
		return s.sharedAs(ctx, u.mark), nil
	case outbox.IsLost(err) || api.Code(err) == "" || api.Dead(err):
		return "", err
	default:
		s.a.log.Warn("slack refused a file, a line says so", "thread", s.thread.String(), "error", err)
		return s.line(ctx, fmt.Sprintf("The file %s can't be shown: Slack does not take it (%s).", u.title, api.Code(err)))
	}
}

func (s *sending) line(ctx context.Context, text string) (string, error) {
	return s.send(ctx, 0, layout.Part{{Text: layout.Escape(text), Plain: true}})
}

// share puts a file into the thread, unless it is there. After a failure that
// may have had an effect it looks for the file, and then completes the same
// upload again rather than a new one: if the first call is still on its way,
// Slack knows that it is about one file.
func (s *sending) share(ctx context.Context, u upload) error {
	id, tried := "", false
	_, err := s.a.Deliver(ctx, s.thread, front.Attempt{
		Stands: func() string { return s.fileAt(u.mark) },
		Make: func(ctx context.Context) (_ string, err error) {
			if id == "" {
				id, err = s.store(ctx, u)
			}
			if err == nil {
				err = s.complete(ctx, id, u.title)
			}
			if api.Code(err) == "file_not_found" && tried { // the upload is used up: most likely it was completed
				err = &outbox.Lost{Call: "files.completeUploadExternal", Err: err}
			}
			tried = true
			return "", err
		},
		Look: s.look,
	})
	return err
}

// sharedAs looks for the message that an upload has become: Slack does not name
// it, and makes it a moment after it has answered. That it can't be found is no
// failure, as the file is shared.
func (s *sending) sharedAs(ctx context.Context, mark string) string {
	for try := 1; ; try++ {
		if err := s.look(ctx); err != nil {
			s.a.log.Debug("look for the message of a file", "thread", s.thread.String(), "error", err)
			return ""
		}
		if ts := s.fileAt(mark); ts != "" || try == front.MostTries {
			return ts
		}
		if retry.Sleep(ctx, s.a.o.Settle) != nil {
			return ""
		}
	}
}

// store uploads the content of a file, which nobody sees yet, and returns the
// file's id.
func (s *sending) store(ctx context.Context, u upload) (string, error) {
	var slot struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	args := url.Values{"filename": {u.name}, "length": {strconv.Itoa(len(u.data))}}
	err := s.a.web.Call(ctx, api.Request{Method: "files.getUploadURLExternal", Args: args, Priority: s.priority, Answer: &slot})
	if err != nil {
		return "", err
	}
	return slot.ID, s.a.web.Put(ctx, slot.URL, u.data)
}

func (s *sending) complete(ctx context.Context, id, title string) error {
	files, err := json.Marshal([]map[string]string{{"id": id, "title": title}})
	if err != nil {
		return fmt.Errorf("write the list of files: %w", err)
	}
	args := url.Values{"files": {string(files)}, "channel_id": {api.ChannelOf(s.thread.Channel)}}
	if s.thread.Root != "" {
		args.Set("thread_ts", s.thread.Root)
	}
	return s.a.web.Call(ctx, api.Request{
		Method: "files.completeUploadExternal", Args: args, Priority: s.priority, Group: s.thread.String(),
	})
}
