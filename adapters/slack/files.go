package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"nod/chat"
)

// Caps of what is fetched. What is larger is only named.
const (
	mostText  = 1 << 20
	mostImage = 5 << 20
	mostFiles = 10
	fileWait  = 8 * time.Second // for all files of a message
)

// file is what nod reads of a file object
// (https://docs.slack.dev/reference/objects/file-object).
type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Mimetype string `json:"mimetype"`
	Mode     string `json:"mode"`
	Size     int64  `json:"size"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
	Access   string `json:"file_access"`
}

// attached fetches the files of a message, as far as the model can use them.
// What can't be had is named without content.
func (a *Adapter) attached(ctx context.Context, thread chat.ThreadID, ev event) []chat.File {
	var files []file
	if len(ev.Files) == 0 || json.Unmarshal(ev.Files, &files) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, fileWait)
	defer cancel()
	var out []chat.File
	for i, f := range files {
		if f.Mode == "tombstone" || f.Mode == "hidden_by_limit" {
			continue
		}
		kept := chat.File{Name: firstOf(f.Name, f.Title, f.ID), MediaType: f.Mimetype, Size: f.Size}
		if i < mostFiles {
			if err := a.take(ctx, thread, f, &kept); err != nil {
				a.log.Warn("fetch an attached file", "thread", thread.String(), "error", err)
			}
		}
		out = append(out, kept)
	}
	return out
}

// take fetches one file into kept.
func (a *Adapter) take(ctx context.Context, thread chat.ThreadID, f file, kept *chat.File) error {
	if f.Access == "check_file_info" {
		full, err := a.fileInfo(ctx, f.ID)
		if err != nil {
			return err
		}
		f = full
		kept.Name, kept.MediaType, kept.Size = firstOf(f.Name, f.Title, kept.Name), f.Mimetype, f.Size
	}
	most := int64(0)
	text := isText(f.Mimetype)
	switch {
	case text:
		most = mostText
	case isImage(f.Mimetype):
		most = mostImage
	}
	if most == 0 || f.Size > most {
		return nil
	}
	data, err := a.web.download(ctx, firstOf(f.Download, f.Private), most)
	if err != nil {
		return err
	}
	if text && !utf8.Valid(data) {
		return nil
	}
	if text {
		kept.Text = beginning(string(data), chat.FileText)
	}
	kept.Size = int64(len(data))
	blob, err := a.o.Inbox.Keep(ctx, thread, data)
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	kept.Blob = blob
	return nil
}

func (a *Adapter) fileInfo(ctx context.Context, id string) (file, error) {
	var said struct {
		File file `json:"file"`
	}
	err := a.web.call(ctx, request{method: "files.info", args: url.Values{"file": {id}}, answer: &said})
	return said.File, err
}

// isText says whether a media type is one that a model can read as it is.
func isText(mediaType string) bool {
	kind, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return false
	}
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/sql", "application/x-sh", "application/x-ndjson":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml"
}

func isImage(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// beginning is at most n bytes of s, ending at a rune.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// download fetches a private file. The token goes to Slack's own hosts only:
// the address comes from an event, and an external file's is anybody's.
func (w *web) download(ctx context.Context, address string, most int64) ([]byte, error) {
	if !w.ours(address) {
		return nil, errors.New("fetch a file: it is not at Slack")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("fetch a file: bad address")
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := w.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch a file: %w", withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch a file: status %d", resp.StatusCode)
	}
	if redir := resp.Request.URL.Query().Get("redir"); redir != "" {
		return nil, errors.New("fetch a file: the token may not read it (is the scope files:read there?)")
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("fetch a file: %w", withoutURL(err))
	}
	if int64(len(data)) > most {
		return nil, errors.New("fetch a file: larger than it was said to be")
	}
	return data, nil
}

// withoutURL takes the address out of an error: files have secret ones.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// ours says whether the token may go to an address.
func (w *web) ours(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	api, err := url.Parse(w.base)
	if err == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	return u.Scheme == "https" && (host == "slack.com" || strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-gov.com"))
}

// upload puts a file into a thread. Asking for an address and sending to it may
// be repeated; the file appears with the last call.
func (a *Adapter) upload(ctx context.Context, r request, thread chat.ThreadID, name string, data []byte) error {
	var slot struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	first := r
	first.method, first.answer = "files.getUploadURLExternal", &slot
	first.args = url.Values{"filename": {name}, "length": {fmt.Sprint(len(data))}}
	if err := a.web.call(ctx, first); err != nil {
		return err
	}
	if err := a.web.send(ctx, slot.URL, data); err != nil {
		return err
	}
	files, err := json.Marshal([]map[string]string{{"id": slot.ID, "title": name}})
	if err != nil {
		return err
	}
	last := r
	last.method, last.answer = "files.completeUploadExternal", nil
	last.args = url.Values{"files": {string(files)}, "channel_id": {channelOf(thread.Channel)}}
	if thread.Root != "" {
		last.args.Set("thread_ts", thread.Root)
	}
	return a.web.call(ctx, last)
}

// send puts content where Slack said.
func (w *web) send(ctx context.Context, address string, data []byte) error {
	if !w.ours(address) {
		return errors.New("upload a file: the address is not Slack's")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return errors.New("upload a file: bad address")
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := w.http.Do(req)
	if err != nil {
		return fmt.Errorf("upload a file: %w", withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("upload a file: status %d", resp.StatusCode)
	}
	return nil
}
