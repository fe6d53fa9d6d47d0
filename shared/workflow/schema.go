package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemaURL is the schema's name to the library; it is never fetched.
const schemaURL = "definition:///input.json"

// noFetching refuses references to other documents: a stored definition must
// mean the same for ever, and the network is no place to look.
type noFetching struct{}

// Load always fails.
func (noFetching) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s, but a schema must be in one file: use #/$defs/", url)
}

// compileSchema compiles a JSON Schema (draft 2020-12 unless it says otherwise;
// formats are checked).
func compileSchema(source []byte) (*jsonschema.Schema, error) {
	doc, err := decodeJSON(source)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if number, found := findOutOfRange(doc); found {
		return nil, fmt.Errorf("the number %s is out of range", number)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noFetching{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, schemaError(err)
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, schemaError(err)
	}
	return schema, nil
}

// schemaError shortens what the library says about a schema.
func schemaError(err error) error {
	var unfit *jsonschema.SchemaValidationError
	if errors.As(err, &unfit) {
		err = unfit.Err
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return errors.New(explain(invalid))
	}
	var unread *jsonschema.LoadURLError
	if errors.As(err, &unread) {
		return unread.Err
	}
	return errors.New(strings.ReplaceAll(firstLine(err), schemaURL, "it"))
}

// How much is told about an order that doesn't fit.
const (
	maxMisfits     = 5
	maxExplanation = 400
)

// explain lists what doesn't fit, each with the JSON pointer of its field. It
// never repeats a value: an order may hold what must not be in a log.
func explain(e *jsonschema.ValidationError) string {
	found := misfits(e, nil)
	slices.Sort(found) // the library goes through maps
	if len(found) > maxMisfits {
		found = append(found[:maxMisfits], "and more")
	}
	return shorten(strings.Join(found, "; "), maxExplanation)
}

// misfits adds the innermost errors to found.
func misfits(e *jsonschema.ValidationError, found []string) []string {
	at := pointer(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return append(found, at+": fits none of the allowed forms")
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return append(found, at+": fits more than one of the allowed forms")
		}
		return append(found, at+": fits none of the allowed forms")
	case *kind.Required:
		for _, name := range k.Missing {
			found = append(found, field(at, name)+": is missing")
		}
		return found
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			found = append(found, field(at, name)+": is not a known field")
		}
		return found
	}
	if len(e.Causes) == 0 {
		return append(found, at+": "+misfit(e.ErrorKind))
	}
	for _, cause := range e.Causes {
		found = misfits(cause, found)
	}
	return found
}

// misfit says what is wrong with one value, without the value.
func misfit(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("is %s, must be %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum:
		return "must be one of " + shortJSON(k.Want)
	case *kind.Const:
		return "must be " + shortJSON(k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "must be a multiple of " + k.Want.RatString()
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters, must have at least %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters, must have at most %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items, must have at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items, must have at most %d", k.Got, k.Want)
	case *kind.Pattern:
		return "must match " + shorten(k.Want, 80)
	case *kind.Format:
		return "must be a valid " + k.Want
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return "does not satisfy " + path[len(path)-1]
	}
	return "does not fit"
}

func shortJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "what the schema says"
	}
	return shorten(string(raw), 80)
}

// pointer is the JSON pointer (RFC 6901) of a place; the whole document is "/".
func pointer(path []string) string {
	at := "/"
	for _, name := range path {
		at = field(at, name)
	}
	return at
}

// field is the pointer of a field of what is at a pointer.
func field(at, name string) string {
	name = strings.NewReplacer("~", "~0", "/", "~1").Replace(shorten(name, 60))
	return strings.TrimSuffix(at, "/") + "/" + name
}

// findOutOfRange looks for a number that no float64 can hold. Such numbers cost
// more to compute with than they are worth, so they stop at the door.
func findOutOfRange(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return shorten(v.String(), 40), outOfRange(v.String())
	case []any:
		for _, item := range v {
			if text, found := findOutOfRange(item); found {
				return text, true
			}
		}
	case map[string]any:
		for _, item := range v {
			if text, found := findOutOfRange(item); found {
				return text, true
			}
		}
	}
	return "", false
}

// maxExponent bounds exponents on the small side, where a float64 would
// silently become zero.
const maxExponent = 400

func outOfRange(digits string) bool {
	if len(digits) <= 20 && !strings.ContainsAny(digits, "eE") {
		return false
	}
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		exponent, err := strconv.Atoi(digits[at+1:])
		if err != nil || exponent < -maxExponent {
			return true
		}
	}
	_, err := strconv.ParseFloat(digits, 64)
	return err != nil
}
