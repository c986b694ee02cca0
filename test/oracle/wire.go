package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	celpb "cel.dev/expr"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// WireValue is a value with its type: an object with one key, see README.md.
type WireValue map[string]any

func wireInt(value int64) WireValue    { return WireValue{"int": strconv.FormatInt(value, 10)} }
func wireUint(value uint64) WireValue  { return WireValue{"uint": strconv.FormatUint(value, 10)} }
func wireString(text string) WireValue { return WireValue{"string": text} }
func wireBytes(bytes []byte) WireValue {
	return WireValue{"bytes": base64.StdEncoding.EncodeToString(bytes)}
}
func wireDouble(value float64) WireValue {
	switch {
	case math.IsNaN(value):
		return WireValue{"double": "NaN"}
	case math.IsInf(value, 1):
		return WireValue{"double": "Infinity"}
	case math.IsInf(value, -1):
		return WireValue{"double": "-Infinity"}
	default:
		return WireValue{"double": strconv.FormatFloat(value, 'g', -1, 64)}
	}
}
func wireTimestamp(value time.Time) WireValue {
	return WireValue{"timestamp": []int64{value.Unix(), int64(value.Nanosecond())}}
}
func wireDuration(value time.Duration) WireValue {
	return WireValue{"duration": strconv.FormatInt(int64(value), 10)}
}
func wireOpaque(typeName, text string) WireValue {
	return WireValue{"opaque": map[string]any{"type": typeName, "text": text}}
}

// errNeedsMessage says that a value is a protocol-buffer message that JSON has no form for.
type errNeedsMessage struct{ name string }

func (e errNeedsMessage) Error() string { return "needs the message " + e.name }

// wireFromProto encodes a value of the cel-spec. A message that is no well-known type of JSON is errNeedsMessage.
func wireFromProto(value *celpb.Value) (WireValue, error) {
	switch kind := value.GetKind().(type) {
	case nil, *celpb.Value_NullValue:
		return WireValue{"null": nil}, nil
	case *celpb.Value_BoolValue:
		return WireValue{"bool": kind.BoolValue}, nil
	case *celpb.Value_Int64Value:
		return wireInt(kind.Int64Value), nil
	case *celpb.Value_Uint64Value:
		return wireUint(kind.Uint64Value), nil
	case *celpb.Value_DoubleValue:
		return wireDouble(kind.DoubleValue), nil
	case *celpb.Value_StringValue:
		return wireString(kind.StringValue), nil
	case *celpb.Value_BytesValue:
		return wireBytes(kind.BytesValue), nil
	case *celpb.Value_TypeValue:
		return WireValue{"type": kind.TypeValue}, nil
	case *celpb.Value_EnumValue:
		return nil, errNeedsMessage{kind.EnumValue.GetType()}
	case *celpb.Value_ListValue:
		list := []WireValue{}
		for _, each := range kind.ListValue.GetValues() {
			element, err := wireFromProto(each)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		return WireValue{"list": list}, nil
	case *celpb.Value_MapValue:
		entries := [][2]WireValue{}
		for _, each := range kind.MapValue.GetEntries() {
			key, err := wireFromProto(each.GetKey())
			if err != nil {
				return nil, err
			}
			element, err := wireFromProto(each.GetValue())
			if err != nil {
				return nil, err
			}
			entries = append(entries, [2]WireValue{key, element})
		}
		return WireValue{"map": entries}, nil
	case *celpb.Value_ObjectValue:
		return wireFromMessage(kind.ObjectValue)
	default:
		return nil, fmt.Errorf("unknown kind of value %T", kind)
	}
}

// wireFromMessage reads the well-known types that are values of CEL of their own.
func wireFromMessage(packed *anypb.Any) (WireValue, error) {
	message, err := packed.UnmarshalNew()
	if err != nil {
		return nil, errNeedsMessage{packed.GetTypeUrl()}
	}
	switch message := message.(type) {
	case *timestamppb.Timestamp:
		return wireTimestamp(message.AsTime()), nil
	case *durationpb.Duration:
		return wireDuration(message.AsDuration()), nil
	case *structpb.Value, *structpb.Struct, *structpb.ListValue,
		*wrapperspb.BoolValue, *wrapperspb.StringValue, *wrapperspb.BytesValue, *wrapperspb.DoubleValue,
		*wrapperspb.FloatValue, *wrapperspb.Int32Value, *wrapperspb.Int64Value, *wrapperspb.UInt32Value, *wrapperspb.UInt64Value:
		return nil, errNeedsMessage{string(proto.MessageName(message))}
	default:
		return nil, errNeedsMessage{string(proto.MessageName(message))}
	}
}

// proto decodes a binding. Opaque values and optionals cannot be bound.
func (w WireValue) proto() (*celpb.Value, error) {
	for kind, content := range w {
		switch kind {
		case "null":
			return &celpb.Value{Kind: &celpb.Value_NullValue{}}, nil
		case "bool":
			return &celpb.Value{Kind: &celpb.Value_BoolValue{BoolValue: content.(bool)}}, nil
		case "int":
			number, err := strconv.ParseInt(content.(string), 10, 64)
			return &celpb.Value{Kind: &celpb.Value_Int64Value{Int64Value: number}}, err
		case "uint":
			number, err := strconv.ParseUint(content.(string), 10, 64)
			return &celpb.Value{Kind: &celpb.Value_Uint64Value{Uint64Value: number}}, err
		case "double":
			number, err := strconv.ParseFloat(content.(string), 64)
			return &celpb.Value{Kind: &celpb.Value_DoubleValue{DoubleValue: number}}, err
		case "string":
			return &celpb.Value{Kind: &celpb.Value_StringValue{StringValue: content.(string)}}, nil
		case "bytes":
			bytes, err := base64.StdEncoding.DecodeString(content.(string))
			return &celpb.Value{Kind: &celpb.Value_BytesValue{BytesValue: bytes}}, err
		case "type":
			return &celpb.Value{Kind: &celpb.Value_TypeValue{TypeValue: content.(string)}}, nil
		case "timestamp":
			parts := content.([]any)
			return packed(&timestamppb.Timestamp{Seconds: int64(parts[0].(float64)), Nanos: int32(parts[1].(float64))})
		case "duration":
			nanoseconds, err := strconv.ParseInt(content.(string), 10, 64)
			if err != nil {
				return nil, err
			}
			return packed(durationpb.New(time.Duration(nanoseconds)))
		case "list":
			list := &celpb.ListValue{}
			for _, each := range content.([]any) {
				element, err := WireValue(each.(map[string]any)).proto()
				if err != nil {
					return nil, err
				}
				list.Values = append(list.Values, element)
			}
			return &celpb.Value{Kind: &celpb.Value_ListValue{ListValue: list}}, nil
		case "map":
			entries := &celpb.MapValue{}
			for _, each := range content.([]any) {
				pair := each.([]any)
				key, err := WireValue(pair[0].(map[string]any)).proto()
				if err != nil {
					return nil, err
				}
				value, err := WireValue(pair[1].(map[string]any)).proto()
				if err != nil {
					return nil, err
				}
				entries.Entries = append(entries.Entries, &celpb.MapValue_Entry{Key: key, Value: value})
			}
			return &celpb.Value{Kind: &celpb.Value_MapValue{MapValue: entries}}, nil
		}
		return nil, fmt.Errorf("a value of kind %q cannot be bound", kind)
	}
	return nil, fmt.Errorf("an empty value cannot be bound")
}

func packed(message proto.Message) (*celpb.Value, error) {
	any, err := anypb.New(message)
	return &celpb.Value{Kind: &celpb.Value_ObjectValue{ObjectValue: any}}, err
}

// MarshalJSON keeps WireValue from being written as null when it is a map without entries.
func (w WireValue) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any(w)) }
