package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// bundleFormat is raised when the stored form changes.
const bundleFormat = 1

// bundle is the stored form: everything that a definition means, in one text.
type bundle struct {
	Format     int           `json:"format"`
	Definition string        `json:"definition"`
	Schema     *bundleSchema `json:"schema,omitempty"`
}

type bundleSchema struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Bundle returns the form to store: JSON with the YAML and the text of its
// schema. It does not depend on where the definition was read from: the same
// source gives the same bytes, so that bytes can be compared to tell whether a
// stored version is the one at hand.
func (d Definition) Bundle() []byte {
	b := bundle{Format: bundleFormat, Definition: d.text}
	if d.schema.compiled != nil {
		b.Schema = &bundleSchema{Path: d.schema.path, Text: d.schema.text}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(b); err != nil {
		panic(fmt.Sprintf("workflow: encoding strings and a number: %v", err)) // can't fail
	}
	return out.Bytes()
}

// ParseBundle reads what Bundle returned. Agents are not checked: a task goes on
// under the definition it was started with. An error means that the bundle is
// damaged, or was written by a later version of Triad.
func ParseBundle(raw []byte) (Definition, error) {
	var b bundle
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return Definition{}, fmt.Errorf("reading a stored definition: %w", err)
	}
	if b.Format != bundleFormat {
		return Definition{}, fmt.Errorf("reading a stored definition: its format is %d, this version of Triad reads %d", b.Format, bundleFormat)
	}
	source := Source{File: "stored definition", Text: []byte(b.Definition)}
	if b.Schema != nil {
		source.Open = func(path string) ([]byte, error) {
			if path != b.Schema.Path {
				return nil, fmt.Errorf("the bundle holds %s instead", b.Schema.Path)
			}
			return []byte(b.Schema.Text), nil
		}
	}
	out, err := Parse(source)
	if err != nil {
		return Definition{}, fmt.Errorf("reading a stored definition: %w", err)
	}
	return out, nil
}
