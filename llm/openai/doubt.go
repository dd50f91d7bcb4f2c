package openai

import (
	"cmp"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"nod/llm"
)

// A refusal may be about one call, and not about the model: a broken picture, a value. A
// limit is learnt at once where the refusal names the model or the endpoint. Otherwise the
// call is made without the field, and the limit is learnt at the second refusal with no
// success between them. Refused pictures are remembered, so a second one is another one.

// spared is left out of one call.
type spared struct {
	lim      limits
	pictures map[string]bool
	rounds   int
}

// ofModel matches a refusal that is about the model or the endpoint.
var ofModel = regexp.MustCompile(`\b(model|endpoint|deployment|provider|organization|engine|server|api)s?\b|parameter|\b(un(known|recognized|expected)|extra)\b|unsupported:|only the default|only be set|deprecated|` +
	`image inputs? (is|are) not|support(s|ing)? (for )?(images?|vision|multimodal)|unknown variant`) // the last line is about images: llama.cpp, OpenRouter, DeepSeek

// ofPicture matches a refusal that is about the picture that was sent.
var ofPicture = regexp.MustCompile(`format|mime|media.?type|too large|dimension|download|animated|valid image|invalid image|image_parse|your image|image data|appears to be|process image|decode|corrupt|base64`)

// blind matches a picture's refusal that comes as a failure of the server: llama.cpp, Ollama.
var blind = regexp.MustCompile(`\bimage(: unknown format| input)|\b(load|process|decode) (an? )?(images?|multimodal)`)

// pictureWords match a refusal that has to do with pictures, and otherWords one that names
// something else. One without any of them may be about anything.
var (
	pictureWords = regexp.MustCompile(`\b(images?|image_\w+|pictures?|vision|multimodal|mime|base64|pixels?|png|jpe?g|webp|gif|heic)\b|\bcontent\b.{0,40}\bstring`)
	otherWords   = regexp.MustCompile(`\b(temperature|top_?p|stop|stream\w*|tools?|functions?|schema|models?|messages?|roles?|fields?|parameters?|key|context|tokens?)\b`)
)

// doubtful are the limits that a refusal of one value may feign. The others are forms of
// the whole conversation.
const doubtful = noStop | noTemperature | noTopP | noStreamOptions | noStream | noImages | noToolChoice | noReasoning

// certain says whether a refusal that names a limit teaches it.
func certain(f *failure, found limits) bool {
	words := f.said.words()
	return found&doubtful == 0 || sentinel(f.cause) != 0 || ofModel.MatchString(words) && !(found == noImages && ofPicture.MatchString(words) && !strings.Contains(words, "certain models"))
}

// spares finds what to leave out of a refused call, and says whether there is something.
func (m *Model) spares(f *failure, req request, s *spared) bool {
	switch f.public.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType, http.StatusInternalServerError:
	default:
		return false
	}
	words := f.said.words()
	if f.public.Fault != llm.Refused || s.rounds == 2 || !pictureWords.MatchString(words) && otherWords.MatchString(words) {
		return false
	}
	found := false
	for i := len(req.Messages) - 1; i >= 0 && (!found || s.rounds > 0); i-- { // the newest first, and then all
		for _, img := range req.Messages[i].Images {
			s.pictures[keyOf(img)], found = true, true
			m.o.Logger.Warn("picture left out", "type", img.MediaType, "bytes", len(img.Data), "error", clean(f.said.Message, m.o.APIKey.Reveal()))
		}
	}
	s.rounds++
	return found
}

// worked learns from a call that was answered: of what was left out of it, and of what was
// not.
func (m *Model) worked(req request, s spared) {
	doubts := s.lim
	m.mu.Lock()
	for key := range s.pictures {
		m.refused[key], doubts = true, doubts|noImages
	}
	again := m.doubts & doubts
	m.doubts = m.doubts&^m.sent(req.Request, req.lim) | doubts
	m.mu.Unlock()
	m.note(again)
}

// shown are the messages without pictures that were refused.
func (m *Model) shown(messages []llm.Message, s spared) []llm.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.refused)+len(s.pictures) == 0 { // nearly always
		return messages
	}
	out := make([]llm.Message, 0, len(messages))
	for _, msg := range messages {
		var images []llm.Image
		for _, img := range msg.Images {
			if key := keyOf(img); m.refused[key] || s.pictures[key] {
				msg.Text += "\n(The picture " + cmp.Or(img.Name, "above") + " was refused by your server, so you can't see it. Say so.)"
			} else {
				images = append(images, img)
			}
		}
		msg.Images = images
		out = append(out, msg)
	}
	return out
}

func keyOf(img llm.Image) string {
	if img.Blob != "" {
		return img.Blob
	}
	sum := sha256.Sum256(img.Data)
	return string(sum[:])
}

// level is how loud the log tells of a learnt limit: a blind model is a loss.
func level(l limits) slog.Level {
	if l == noImages {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
