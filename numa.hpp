#pragma once
namespace mscclpp { inline int getDeviceNumaNode(int){return -1;} inline void numaBind(int){} }
