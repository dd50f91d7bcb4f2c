// Package wire brings messages of MCP servers into a form that the SDK reads. It knows the
// messages of both versions that have tasks, and nothing of servers or calls.
package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
)

// The SDK takes a message whole or not at all: one item of a result that it does
// not know, and an answer that came is a call of which nobody knows what became.
// So messages are looked through before it sees them, and an item that it could not
// read becomes a text that says so.

// TaskMeta is where a tool is marked that only runs as a task (execution.taskSupport), and
// a result that is a task with its id: the SDK has no word for either.
const TaskMeta = "nod/task"

// Unshown stands for an item that can't be read.
const Unshown = "(it also gave something of a kind that can't be shown here)"

// Tidy gives a message in a form that the SDK reads. What is no result of a call
// and no list of tools stays as it is, byte for byte.
func Tidy(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"result"`)) {
		return message
	}
	var m, result map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(m["result"], &result) != nil {
		return message
	}
	changed := tidyList(result, "content", tidyItem)
	changed = tidyList(result, "tools", tidyTool) || changed
	changed = tidyTask(result) || changed
	if !changed {
		return message
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return message
	}
	m["result"] = raw
	if raw, err = json.Marshal(m); err != nil {
		return message
	}
	return raw
}

// tidyList has each item of a list looked at, and says whether any was changed.
func tidyList(result map[string]json.RawMessage, key string, look func(json.RawMessage) json.RawMessage) bool {
	var items []json.RawMessage
	if json.Unmarshal(result[key], &items) != nil {
		return false
	}
	changed := false
	for i, item := range items {
		if other := look(item); other != nil {
			items[i], changed = other, true
		}
	}
	if !changed {
		return false
	}
	raw, err := json.Marshal(items)
	if err != nil {
		return false
	}
	result[key] = raw
	return true
}

// tidyTool marks a tool that only runs as a task; nil: it is none.
func tidyTool(item json.RawMessage) json.RawMessage {
	var t struct {
		Execution struct{ TaskSupport string }
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(item, &t) != nil || t.Execution.TaskSupport != "required" || json.Unmarshal(item, &all) != nil || !SetMeta(all, TaskMeta, "required") {
		return nil
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return raw
}

// tidyTask marks a result that is a task, in the form of either version of the protocol,
// and says whether it is one.
func tidyTask(result map[string]json.RawMessage) bool {
	var kind, id string
	var older struct{ TaskID string }
	if json.Unmarshal(result["task"], &older) == nil && older.TaskID != "" {
		return SetMeta(result, TaskMeta, older.TaskID)
	}
	_ = json.Unmarshal(result["resultType"], &kind)
	_ = json.Unmarshal(result["taskId"], &id)
	return kind == "task" && id != "" && SetMeta(result, TaskMeta, id)
}

// SetMeta writes a text into the _meta of an object; an empty one only takes it out.
func SetMeta(all map[string]json.RawMessage, key, text string) bool {
	var meta map[string]json.RawMessage
	if json.Unmarshal(all["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	delete(meta, key)
	value, err := json.Marshal(text)
	if text != "" && err == nil {
		meta[key] = value
	}
	raw, failed := json.Marshal(meta)
	all["_meta"] = raw
	return err == nil && failed == nil
}

// tidyItem gives an item of a result anew; nil: it is as it should be.
func tidyItem(item json.RawMessage) json.RawMessage {
	var kind struct{ Type string }
	if json.Unmarshal(item, &kind) != nil {
		return textItem(Unshown)
	}
	switch kind.Type {
	case "text":
		return tidyText(item)
	case "image", "audio":
		var c struct {
			Data     string
			MIMEType string
		}
		if json.Unmarshal(item, &c) != nil {
			return textItem(Unshown)
		}
		return tidyData(item, c.Data)
	case "resource_link":
		if json.Unmarshal(item, &struct{ URI, Name, Title, Description, MIMEType string }{}) != nil {
			return textItem(Unshown)
		}
		return nil
	case "resource":
		var c struct {
			Resource *struct{ URI, MIMEType, Text, Blob string }
		}
		if json.Unmarshal(item, &c) != nil || c.Resource == nil || !isBase64(c.Resource.Blob) {
			return textItem(Unshown)
		}
		return nil
	}
	return textItem(Unshown)
}

// tidyText converts a value that could be a string into text.
func tidyText(item json.RawMessage) json.RawMessage {
	var c struct{ Text json.RawMessage }
	var text string
	switch {
	case json.Unmarshal(item, &c) != nil:
		return textItem(Unshown)
	case c.Text == nil || json.Unmarshal(c.Text, &text) == nil:
		return nil
	}
	return textItem(string(c.Text))
}

// tidyData takes the address off of data that came as one ("data:image/png;base64,…").
func tidyData(item json.RawMessage, data string) json.RawMessage {
	if isBase64(data) {
		return nil
	}
	_, bare, ok := strings.Cut(data, ";base64,")
	var all map[string]json.RawMessage
	if !ok || !isBase64(bare) || json.Unmarshal(item, &all) != nil {
		return textItem(Unshown)
	}
	var err error
	if all["data"], err = json.Marshal(bare); err != nil {
		return textItem(Unshown)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return textItem(Unshown)
	}
	return raw
}

func isBase64(text string) bool {
	_, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	return err == nil
}

func textItem(text string) json.RawMessage {
	raw, err := json.Marshal(map[string]string{"type": "text", "text": text})
	if err != nil {
		return json.RawMessage(`{"type":"text","text":""}`)
	}
	return raw
}
