package fakeslack

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// file is something uploaded, by a person or by the bot.
type file struct {
	thumb           []byte
	later           bool // events tell the id only
	id, name, title string
	mediaType       string
	user            string
	length          int // as announced
	data            []byte
	uploaded        bool
	shared          bool
	channels        []string
	at              time.Time
}

// File is a file of a message, with its content.
type File struct {
	ID        string
	Name      string
	Title     string
	MediaType string
	Data      []byte
}

func (s *Server) newFile(name, user string) *file {
	f := &file{id: s.nextID("F"), name: name, title: name, user: user, at: s.now()}
	if f.mediaType, _, _ = mime.ParseMediaType(mime.TypeByExtension(path.Ext(name))); f.mediaType == "" {
		f.mediaType = "application/octet-stream"
	}
	s.desk.files[f.id] = f
	return f
}

func (s *Server) renderFile(f *file) reply {
	kind := strings.TrimPrefix(path.Ext(f.name), ".")
	if kind == "" {
		kind = "binary"
	}
	at := s.base + "/files-pri/" + f.id + "/" + path.Base(f.name)
	out := reply{
		"id": f.id, "created": f.at.Unix(), "timestamp": f.at.Unix(), "name": f.name, "title": f.title,
		"mimetype": f.mediaType, "filetype": kind, "pretty_type": strings.ToUpper(kind), "user": f.user,
		"user_team": Team, "editable": false, "size": len(f.data), "mode": "hosted", "is_external": false,
		"external_type": "", "is_public": true, "public_url_shared": false, "display_as_bot": false, "username": "",
		"url_private": at, "url_private_download": at, "permalink": "https://fake.slack.com/files/" + f.user + "/" + f.id,
		"has_rich_preview": false, "file_access": "visible", "channels": f.channels,
	}
	if f.thumb != nil {
		out["thumb_1024"], out["thumb_1024_w"] = s.base+"/files-tmb/"+f.id+"/thumb_1024.png", 1024
	}
	return out
}

// HoldFiles has every download of a file wait for f first.
func (s *Server) HoldFiles(f func()) {
	defer s.change()()
	s.desk.holdFiles = f
}

func uploadURL(s *Server, c *call) (reply, error) {
	length, err := strconv.Atoi(c.args["length"])
	if err != nil || length < 1 || c.args["filename"] == "" {
		return nil, breach("missing_argument", "filename and length are wanted")
	}
	f := s.newFile(c.args["filename"], BotUser)
	f.length = length
	return reply{"upload_url": s.base + "/upload/" + f.id, "file_id": f.id}, nil
}

// serveUpload takes the content, as the body or as the only file of a form.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = http.MaxBytesReader(w, r.Body, 64<<20)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "multipart/form-data" {
		r.Body = io.NopCloser(body)
		part, err := r.MultipartReader()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p, err := part.NextPart()
		for err == nil && p.FileName() == "" {
			p, err = part.NextPart()
		}
		if err != nil {
			http.Error(w, "no file", http.StatusBadRequest)
			return
		}
		body = p
	}
	data, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !s.store(r.PathValue("id"), data) {
		http.Error(w, "no such upload", http.StatusNotFound)
		return
	}
	_, _ = io.WriteString(w, "OK - "+strconv.Itoa(len(data)))
}

func (s *Server) store(id string, data []byte) bool {
	defer s.change()()
	f := s.desk.files[id]
	if f == nil || f.shared {
		return false
	}
	if len(data) != f.length {
		s.violate("upload", "the file has "+strconv.Itoa(len(data))+" bytes, announced were "+strconv.Itoa(f.length))
	}
	f.data, f.uploaded = data, true
	return true
}

// completeUpload makes uploads visible, in one message if a channel is given.
func completeUpload(s *Server, c *call) (reply, error) {
	var wanted []struct{ ID, Title string }
	if err := json.Unmarshal([]byte(c.args["files"]), &wanted); err != nil || len(wanted) == 0 {
		return nil, breach("invalid_arguments", "files is no list of files")
	}
	var files []*file
	out := []reply{}
	for _, w := range wanted {
		f := s.desk.files[w.ID]
		if f == nil || !f.uploaded || f.shared {
			return nil, refuse("file_not_found")
		}
		if w.Title != "" {
			f.title = w.Title
		}
		files = append(files, f)
	}
	channels := c.args.list("channels")
	if id := c.args["channel_id"]; id != "" {
		channels = append(channels, id)
	}
	for _, id := range channels {
		if err := s.share(c, id, files); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		f.shared = true
		out = append(out, s.renderFile(f))
	}
	return reply{"files": out}, nil
}

func (s *Server) share(c *call, id string, files []*file) error {
	ch, err := s.writable(id)
	if err != nil {
		return err
	}
	m := &message{user: BotUser, botID: BotID, text: c.args["initial_comment"], files: files, subtype: "file_share"}
	if m.thread, err = s.root(ch, c); err != nil {
		return err
	}
	if m.blocks, err = jsonArray(c, "blocks", "invalid_blocks"); err != nil {
		return err
	}
	if err := checkBlocks(m.blocks, inMessage); err != nil {
		return err
	}
	for _, f := range files {
		f.channels = append(f.channels, ch.ID)
	}
	if s.opt.ShareAfter > 0 {
		s.after(s.opt.ShareAfter, func() { s.say(ch, m) })
		return nil
	}
	s.say(ch, m)
	return nil
}

func fileInfo(s *Server, c *call) (reply, error) {
	f := s.desk.files[c.args["file"]]
	if f == nil {
		return nil, refuse("file_not_found")
	}
	return reply{"file": s.renderFile(f), "comments": []reply{}, "response_metadata": cursorTo("")}, nil
}

// serveFile gives a file's content to whoever holds the bot token and may read
// files. Everybody else gets the login page, with status 200, as from Slack.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.desk.files[r.PathValue("id")]
	allowed := r.Header.Get("Authorization") == "Bearer "+s.opt.BotToken && s.need("files:read") == nil
	hold := s.desk.holdFiles
	s.mu.Unlock()
	if hold != nil && allowed {
		hold()
	}
	switch {
	case !allowed:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><title>Sign in to fake | Slack</title></html>")
	case f == nil:
		http.NotFound(w, r)
	default:
		data, kind := f.data, f.mediaType
		if strings.HasPrefix(r.URL.Path, "/files-tmb/") {
			data, kind = f.thumb, "image/png"
		}
		if kind == "application/vnd.slack-docs" { // a canvas, which Slack serves as a page
			kind = "text/html; charset=utf-8"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data)
	}
}
