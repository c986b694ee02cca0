package main

import (
	celpb "cel.dev/expr"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// WireType is a static type in the form that src/cel/types.ts has.
type WireType struct {
	Kind       string     `json:"kind"`
	Name       string     `json:"name"`
	Parameters []WireType `json:"parameters"`
}

func simpleType(kind string) WireType {
	return WireType{Kind: kind, Name: kind, Parameters: []WireType{}}
}

func wireType(kind, name string, parameters ...*celpb.Type) WireType {
	result := WireType{Kind: kind, Name: name, Parameters: []WireType{}}
	for _, each := range parameters {
		result.Parameters = append(result.Parameters, wireTypeFromProto(each))
	}
	return result
}

var primitives = map[celpb.Type_PrimitiveType]string{
	celpb.Type_BOOL: "bool", celpb.Type_INT64: "int", celpb.Type_UINT64: "uint",
	celpb.Type_DOUBLE: "double", celpb.Type_STRING: "string", celpb.Type_BYTES: "bytes",
}

func wireTypeFromProto(of *celpb.Type) WireType {
	switch kind := of.GetTypeKind().(type) {
	case *celpb.Type_Null:
		return simpleType("null")
	case *celpb.Type_Primitive:
		return simpleType(primitives[kind.Primitive])
	case *celpb.Type_Wrapper:
		return WireType{Kind: "wrapper", Name: "wrapper", Parameters: []WireType{simpleType(primitives[kind.Wrapper])}}
	case *celpb.Type_WellKnown:
		switch kind.WellKnown {
		case celpb.Type_TIMESTAMP:
			return simpleType("timestamp")
		case celpb.Type_DURATION:
			return simpleType("duration")
		default:
			return WireType{Kind: "object", Name: "google.protobuf.Any", Parameters: []WireType{}}
		}
	case *celpb.Type_ListType_:
		return wireType("list", "list", kind.ListType.GetElemType())
	case *celpb.Type_MapType_:
		return wireType("map", "map", kind.MapType.GetKeyType(), kind.MapType.GetValueType())
	case *celpb.Type_MessageType:
		return wireType("object", kind.MessageType)
	case *celpb.Type_TypeParam:
		return wireType("parameter", kind.TypeParam)
	case *celpb.Type_Type:
		if kind.Type.GetTypeKind() == nil {
			return simpleType("type")
		}
		return wireType("type", "type", kind.Type)
	case *celpb.Type_AbstractType_:
		return wireType("opaque", kind.AbstractType.GetName(), kind.AbstractType.GetParameterTypes()...)
	case *celpb.Type_Error:
		return WireType{Kind: "error", Name: "!error!", Parameters: []WireType{}}
	default:
		return simpleType("dyn")
	}
}

func (t *WireType) parameter(index int) *celpb.Type {
	if index < len(t.Parameters) {
		return t.Parameters[index].proto()
	}
	return &celpb.Type{TypeKind: &celpb.Type_Dyn{Dyn: &emptypb.Empty{}}}
}

func (t *WireType) primitive() celpb.Type_PrimitiveType {
	for primitive, name := range primitives {
		if name == t.Kind {
			return primitive
		}
	}
	return celpb.Type_PRIMITIVE_TYPE_UNSPECIFIED
}

func (t *WireType) proto() *celpb.Type {
	switch t.Kind {
	case "null":
		return &celpb.Type{TypeKind: &celpb.Type_Null{Null: structpb.NullValue_NULL_VALUE}}
	case "bool", "int", "uint", "double", "string", "bytes":
		return &celpb.Type{TypeKind: &celpb.Type_Primitive{Primitive: t.primitive()}}
	case "wrapper":
		return &celpb.Type{TypeKind: &celpb.Type_Wrapper{Wrapper: t.Parameters[0].primitive()}}
	case "timestamp":
		return &celpb.Type{TypeKind: &celpb.Type_WellKnown{WellKnown: celpb.Type_TIMESTAMP}}
	case "duration":
		return &celpb.Type{TypeKind: &celpb.Type_WellKnown{WellKnown: celpb.Type_DURATION}}
	case "list":
		return &celpb.Type{TypeKind: &celpb.Type_ListType_{ListType: &celpb.Type_ListType{ElemType: t.parameter(0)}}}
	case "map":
		return &celpb.Type{TypeKind: &celpb.Type_MapType_{
			MapType: &celpb.Type_MapType{KeyType: t.parameter(0), ValueType: t.parameter(1)}}}
	case "type":
		return &celpb.Type{TypeKind: &celpb.Type_Type{Type: t.parameter(0)}}
	case "object":
		return &celpb.Type{TypeKind: &celpb.Type_MessageType{MessageType: t.Name}}
	case "parameter":
		return &celpb.Type{TypeKind: &celpb.Type_TypeParam{TypeParam: t.Name}}
	case "opaque":
		abstract := &celpb.Type_AbstractType{Name: t.Name}
		for index := range t.Parameters {
			abstract.ParameterTypes = append(abstract.ParameterTypes, t.parameter(index))
		}
		return &celpb.Type{TypeKind: &celpb.Type_AbstractType_{AbstractType: abstract}}
	default:
		return &celpb.Type{TypeKind: &celpb.Type_Dyn{Dyn: &emptypb.Empty{}}}
	}
}

// collectParameters adds the names of the type parameters that occur in t.
func (t *WireType) collectParameters(names map[string]bool) {
	if t.Kind == "parameter" {
		names[t.Name] = true
	}
	for index := range t.Parameters {
		t.Parameters[index].collectParameters(names)
	}
}
